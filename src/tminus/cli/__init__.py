"""The command line: thin, over bootstrap and the store's insights.

`tree` names every command, `main` finds the one that is asked for and loads only its module, because a help page that
takes half a second is read by nobody. Commands return an exit code; whatever goes wrong leaves as one line.
"""
