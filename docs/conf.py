"""How Sphinx builds these pages."""

import os
from importlib.metadata import version as version_of

# The pages show the specification; the native twin's signatures are the same.
os.environ["PROKURIST_IMPL"] = "python"

project = "prokurist"
project_copyright = "2026, the prokurist authors"
release = version_of("prokurist")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
html_theme = "furo"
html_title = f"prokurist {release}"
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
napoleon_use_ivar = True
# The standard library's and pytest's pages are elsewhere: their names are not links here.
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(asyncio|collections|concurrent|contextlib|datetime|enum|google|opentelemetry|os|pathlib|re|threading|types|typing|uuid|pytest|_pytest|prometheus_client)\..*",
    ),
    # Neither are our own that are not meant to be imported.
    (
        r"py:class",
        r"prokurist\.(aio\.consumer|application|events|consumer\.health|producer\.health|producer\.(transacting|read_process_write)|producer\.user_code|testing\.proxy_\w+|testing\.kafka\.security|testing\.cluster|parallel\.(core|dead_letters|schedule)|spark\.(rate_limits|doctor\.checks))\..*|prokurist\.(records\.consumer_records\.Run|consumer\.offset_tracker\.Place)",
    ),
    (
        r"py:class",
        r"(optional|None|prokurist\.admin\.results\.[KV]|Batch|Controls|Final|Headers|Path|Self|SparkSession|StreamingQuery|timedelta|UUID|CollectorRegistry|\w+Keywords|.*Error|.*Warning)",
    ),
]
