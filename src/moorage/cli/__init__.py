"""The command line: parse, call, render.

Law of the package: no decision is taken here. Errors end with one clear message on standard error
and exit code 2 where the input is at fault; no traceback. A command is imported when it is run.

    main                 the table of commands
    lazy_group           a click group that imports a command when it is run
    command_errors       what ends a command: one line, and an exit code
    standard_streams     output that is closed, full, or not in UTF-8
    exit_codes           what scripts may rely on
    common, *_options    options that commands share
    *_cmd                one command each
"""
