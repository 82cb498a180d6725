"""The command line: `prokurist`, or `python -m prokurist`.

Holds: a module for each command, and what they share. Typer and Rich are in the extra
`prokurist[cli]` and are imported when a command runs.
Thread: the main one; each command is a program that builds a client and closes it.
May import: everything. Nothing imports it.

What all commands keep: data on standard output, talk on standard error; an end by
`--timeout`, regardless of what the brokers do; exit code 0 for done, 1 for a failure, 2 for a
wrong call, 130 for Ctrl-C, 143 for SIGTERM, 141 for a pipe that is not read any more; for each
failure one line, and never a traceback.
"""
