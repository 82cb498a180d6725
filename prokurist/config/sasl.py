"""The keys of authentication: `sasl.*`.

What they say is checked against each other in `sasl_checks`, and read by `prokurist.security`
for each authentication.
"""

from typing import Annotated

from prokurist.config.key import HIGH, LOW, MEDIUM, Key, refused, without_effect
from prokurist.config.kinds import (
    LONG_MAX,
    Boolean,
    Choice,
    Integer,
    JavaClass,
    Names,
    Real,
    Text,
    millis,
)
from prokurist.config.objects import TokenProvider
from prokurist.config.secret import Secret, SecretText
from prokurist.config.tls import TlsKeys
from prokurist.lazy_dataclasses import dataclass

ASSERTION = without_effect(
    "signed assertions are not built yet; give sasl.oauthbearer.client.credentials.client.id "
    "and .client.secret, a callable or a file"
)
KERBEROS = without_effect(
    "steers Java's own renewal of Kerberos tickets, which the system's library does here"
)
BROKER_SIDE = without_effect(
    "concerns the checking of tokens, which a broker does and a client does not"
)
OTHERWISE = (
    "a Java class cannot be loaded here, and one of your own may log in otherwise; "
    "leave the key out: what Kafka's and Amazon's classes do, sasl.mechanism and its keys do"
)
NO_CLASS = refused(OTHERWISE)
BEARER_PACKAGE = "org.apache.kafka.common.security.oauthbearer"
LOGINS = JavaClass(
    (
        f"{BEARER_PACKAGE}.OAuthBearerLoginCallbackHandler",
        f"{BEARER_PACKAGE}.secured.OAuthBearerLoginCallbackHandler",
    ),
    OTHERWISE,
)
CLIENTS = JavaClass(("software.amazon.msk.auth.iam.IAMClientCallbackHandler",), OTHERWISE)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False, eq=False)
class SaslKeys(TlsKeys):
    """The keys of SASL; slotted dataclasses compose only in one line, hence the base."""

    sasl_mechanism: Annotated[
        str,
        Key(
            Text(blank=False),
            "How to authenticate: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, "
            "AWS_MSK_IAM, or Java's default GSSAPI, which needs prokurist[gssapi].",
            MEDIUM,
            aliases=("sasl.mechanisms",),
        ),
    ] = "GSSAPI"
    sasl_username: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "User name for PLAIN and SCRAM.",
            HIGH,
            aliases=("sasl_plain_username",),
            ours=True,
        ),
    ] = None
    sasl_password: Annotated[
        Secret | None,
        Key(
            SecretText(),
            "Password for PLAIN and SCRAM.",
            HIGH,
            aliases=("sasl_plain_password",),
            ours=True,
        ),
    ] = None
    sasl_password_location: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "File with the password, instead of sasl.password; read for each connection, on "
            "the machine that connects.",
            ours=True,
        ),
    ] = None
    sasl_jaas_config: Annotated[
        Secret | None,
        Key(
            SecretText(),
            "Java's login configuration, one entry for PlainLoginModule, ScramLoginModule, "
            "OAuthBearerLoginModule, Krb5LoginModule or IAMLoginModule; what it says may be "
            "said by keys of their own as well.",
        ),
    ] = None
    sasl_delegation_token: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether user name and password are the id and the HMAC of a delegation token; "
            'JAAS has it as tokenauth="true".',
            LOW,
            ours=True,
        ),
    ] = False
    sasl_client_callback_handler_class: Annotated[
        str | None, Key(CLIENTS, "Java class that answers SASL's questions.", MEDIUM)
    ] = None
    sasl_login_callback_handler_class: Annotated[
        str | None, Key(LOGINS, "Java class that answers a login's questions.", MEDIUM)
    ] = None
    sasl_login_class: Annotated[
        None, Key(Text(), "Java class that logs in.", MEDIUM, NO_CLASS)
    ] = None
    sasl_kerberos_service_name: Annotated[
        str | None,
        Key(Text(blank=False), "The service part of the brokers' Kerberos principals.", MEDIUM),
    ] = None
    sasl_kerberos_principal: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "Whose Kerberos ticket is used; without it, that of the system's ticket cache.",
            LOW,
            ours=True,
        ),
    ] = None
    sasl_kerberos_keytab: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "File with the keys to get a Kerberos ticket with; without it, the system's cache "
            "is used.",
            LOW,
            ours=True,
        ),
    ] = None
    sasl_aws_profile: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "The profile in Amazon's shared files to take credentials of AWS_MSK_IAM from; "
            "JAAS has it as awsProfileName.",
            LOW,
            ours=True,
        ),
    ] = None
    sasl_aws_role_arn: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "The role that AWS_MSK_IAM assumes by the credentials it finds; JAAS has it as "
            "awsRoleArn.",
            LOW,
            ours=True,
        ),
    ] = None
    sasl_aws_role_session_name: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "Name of that role's session; JAAS has it as awsRoleSessionName.",
            LOW,
            ours=True,
        ),
    ] = None
    sasl_aws_role_external_id: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "The id that a role of another account wants; JAAS has it as awsRoleExternalId.",
            LOW,
            ours=True,
        ),
    ] = None
    sasl_aws_sts_region: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "Region of the service that gives a role's credentials, in place of the brokers'; "
            "JAAS has it as awsStsRegion.",
            LOW,
            ours=True,
        ),
    ] = None
    sasl_kerberos_kinit_cmd: Annotated[
        str, Key(Text(), "Program that renews a Kerberos ticket.", LOW, KERBEROS)
    ] = "/usr/bin/kinit"
    sasl_kerberos_min_time_before_relogin: Annotated[
        int, Key(millis(), "Shortest pause between two Kerberos logins.", LOW, KERBEROS)
    ] = 60_000
    sasl_kerberos_ticket_renew_jitter: Annotated[
        float, Key(Real(0.0, 1.0), "Random share of a ticket's renewal time.", LOW, KERBEROS)
    ] = 0.05
    sasl_kerberos_ticket_renew_window_factor: Annotated[
        float,
        Key(Real(0.0, 1.0), "Share of a ticket's life before it is renewed.", LOW, KERBEROS),
    ] = 0.8
    sasl_login_connect_timeout_ms: Annotated[
        int | None,
        Key(
            millis(),
            "Longest wait for a connection to the token provider.",
            LOW,
        ),
    ] = None
    sasl_login_read_timeout_ms: Annotated[
        int | None,
        Key(millis(), "Longest wait for the token provider's answer.", LOW),
    ] = None
    sasl_login_retry_backoff_ms: Annotated[
        int,
        Key(millis(), "First pause before asking the token provider again.", LOW),
    ] = 100
    sasl_login_retry_backoff_max_ms: Annotated[
        int,
        Key(millis(), "Longest pause before asking the token provider again.", LOW),
    ] = 10_000
    sasl_login_refresh_window_factor: Annotated[
        float,
        Key(Real(0.5, 1.0), "Share of a token's life before it is renewed.", LOW),
    ] = 0.8
    sasl_login_refresh_window_jitter: Annotated[
        float,
        Key(Real(0.0, 0.25), "Random share added to a token's renewal time.", LOW),
    ] = 0.05
    sasl_login_refresh_min_period_seconds: Annotated[
        int,
        Key(Integer(0, 900, "s"), "Shortest time between two renewals.", LOW),
    ] = 60
    sasl_login_refresh_buffer_seconds: Annotated[
        int,
        Key(Integer(0, 3600, "s"), "Time left to a token when it is renewed.", LOW),
    ] = 300
    sasl_oauthbearer_token_callback: Annotated[
        object,
        Key(
            TokenProvider(),
            "Gives tokens: a callable as confluent-kafka's oauth_cb, which is handed "
            "sasl.oauthbearer.config and returns (token, seconds since 1970 at which it "
            "expires), or an object with a method token().",
            aliases=("oauth_cb", "sasl_oauth_token_provider"),
            ours=True,
        ),
    ] = None
    sasl_oauthbearer_config: Annotated[
        str,
        Key(
            Text(),
            "Handed to the callable; without one, what unsecured tokens say: principal=NAME "
            "[scope=A,B] [lifeSeconds=3600].",
            LOW,
            ours=True,
        ),
    ] = ""
    sasl_oauthbearer_extensions: Annotated[
        tuple[str, ...],
        Key(
            Names(),
            "SASL extensions to send with a token, NAME=VALUE with commas between.",
            LOW,
            ours=True,
        ),
    ] = ()
    enable_sasl_oauthbearer_unsecure_jwt: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether unsecured tokens are made from sasl.oauthbearer.config, for brokers in "
            "development.",
            LOW,
            ours=True,
        ),
    ] = False
    sasl_oauthbearer_metadata_authentication_type: Annotated[
        str,
        Key(
            Choice(("none", "azure", "azure_imds", "gcp")),
            "The cloud whose own identity gives tokens: azure for a managed or workload "
            "identity, azure_imds for the metadata service of virtual machines alone, gcp for "
            "the metadata server.",
            LOW,
            ours=True,
        ),
    ] = "none"
    sasl_oauthbearer_token_endpoint_url: Annotated[
        str | None,
        Key(
            Text(),
            "Where a token is asked for with the client's id and secret; file: and a path "
            "for a file that holds it.",
            MEDIUM,
        ),
    ] = None
    https_ca_location: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "PEM file, or directory as `openssl rehash` makes it, with the authorities that "
            "may vouch for the token endpoint; none named means those of the system.",
            LOW,
            ours=True,
        ),
    ] = None
    https_ca_pem: Annotated[
        Secret | None,
        Key(SecretText(), "The same authorities as PEM text.", LOW, ours=True),
    ] = None
    sasl_oauthbearer_client_credentials_client_id: Annotated[
        str | None,
        Key(
            Text(),
            "This client's name at the token provider.",
            MEDIUM,
            aliases=("sasl.oauthbearer.client.id",),
        ),
    ] = None
    sasl_oauthbearer_client_credentials_client_secret: Annotated[
        Secret | None,
        Key(
            SecretText(),
            "This client's password at the token provider.",
            MEDIUM,
            aliases=("sasl.oauthbearer.client.secret",),
        ),
    ] = None
    sasl_oauthbearer_client_credentials_client_secret_location: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "File with that password, instead of it; read for each token.",
            ours=True,
        ),
    ] = None
    sasl_oauthbearer_scope: Annotated[
        str | None, Key(Text(), "Scope to ask a token for.", MEDIUM)
    ] = None
    sasl_oauthbearer_header_urlencode: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether name and password are URL-encoded in the request.",
            LOW,
        ),
    ] = False
    sasl_oauthbearer_assertion_algorithm: Annotated[
        str,
        Key(Choice(("RS256", "ES256")), "How an assertion is signed.", MEDIUM, ASSERTION),
    ] = "RS256"
    sasl_oauthbearer_assertion_claim_aud: Annotated[
        str | None, Key(Text(), "Audience of an assertion.", MEDIUM, ASSERTION)
    ] = None
    sasl_oauthbearer_assertion_claim_exp_seconds: Annotated[
        int, Key(Integer(0, 86_400, "s"), "Life of an assertion.", LOW, ASSERTION)
    ] = 300
    sasl_oauthbearer_assertion_claim_iss: Annotated[
        str | None, Key(Text(), "Issuer of an assertion.", MEDIUM, ASSERTION)
    ] = None
    sasl_oauthbearer_assertion_claim_jti_include: Annotated[
        bool, Key(Boolean(), "Whether an assertion bears a number.", MEDIUM, ASSERTION)
    ] = False
    sasl_oauthbearer_assertion_claim_nbf_seconds: Annotated[
        int,
        Key(Integer(0, 3600, "s"), "How long ago an assertion became valid.", LOW, ASSERTION),
    ] = 60
    sasl_oauthbearer_assertion_claim_sub: Annotated[
        str | None, Key(Text(), "Subject of an assertion.", MEDIUM, ASSERTION)
    ] = None
    sasl_oauthbearer_assertion_file: Annotated[
        str | None, Key(Text(), "File with a ready-made assertion.", MEDIUM, ASSERTION)
    ] = None
    sasl_oauthbearer_assertion_private_key_file: Annotated[
        str | None, Key(Text(), "File with the key that signs assertions.", MEDIUM, ASSERTION)
    ] = None
    sasl_oauthbearer_assertion_private_key_passphrase: Annotated[
        Secret | None,
        Key(SecretText(), "Opens the key that signs assertions.", MEDIUM, ASSERTION),
    ] = None
    sasl_oauthbearer_assertion_template_file: Annotated[
        str | None,
        Key(
            Text(),
            "File with further claims of an assertion.",
            MEDIUM,
            ASSERTION,
            ("sasl.oauthbearer.assertion.jwt.template.file",),
        ),
    ] = None
    sasl_oauthbearer_scope_claim_name: Annotated[
        str, Key(Text(), "Name of the claim that holds the scope.", LOW, ASSERTION)
    ] = "scope"
    sasl_oauthbearer_sub_claim_name: Annotated[
        str, Key(Text(), "Name of the claim that holds the subject.", LOW, ASSERTION)
    ] = "sub"
    sasl_oauthbearer_jwt_retriever_class: Annotated[
        None, Key(Text(), "Java class that fetches tokens.", MEDIUM, NO_CLASS)
    ] = None
    sasl_oauthbearer_jwt_validator_class: Annotated[
        None, Key(Text(), "Java class that checks tokens.", MEDIUM, NO_CLASS)
    ] = None
    sasl_oauthbearer_allow_unverified_audience: Annotated[
        bool, Key(Boolean(), "Whether any audience will do.", MEDIUM, BROKER_SIDE)
    ] = False
    sasl_oauthbearer_allow_unverified_issuer: Annotated[
        bool, Key(Boolean(), "Whether any issuer will do.", MEDIUM, BROKER_SIDE)
    ] = False
    sasl_oauthbearer_expected_audience: Annotated[
        tuple[str, ...], Key(Names(), "Audiences that a token may have.", HIGH, BROKER_SIDE)
    ] = ()
    sasl_oauthbearer_expected_issuer: Annotated[
        str | None, Key(Text(), "Issuer that a token must have.", HIGH, BROKER_SIDE)
    ] = None
    sasl_oauthbearer_clock_skew_seconds: Annotated[
        int,
        Key(Integer(0, unit="s"), "How far two clocks may differ.", LOW, BROKER_SIDE),
    ] = 30
    sasl_oauthbearer_jwks_endpoint_url: Annotated[
        str | None, Key(Text(), "Where the provider's public keys are.", MEDIUM, BROKER_SIDE)
    ] = None
    sasl_oauthbearer_jwks_endpoint_refresh_ms: Annotated[
        int,
        Key(millis(0, LONG_MAX), "Age at which public keys are renewed.", LOW, BROKER_SIDE),
    ] = 3_600_000
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: Annotated[
        int,
        Key(millis(), "First pause before asking for public keys again.", LOW, BROKER_SIDE),
    ] = 100
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: Annotated[
        int,
        Key(millis(), "Longest pause before asking for public keys again.", LOW, BROKER_SIDE),
    ] = 10_000
