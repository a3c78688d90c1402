"""CEL: the expressions by which device classes and requests select devices.

    library         Google's own C++ library, where it is installed
    declarations    which functions there are, and of which types
    environment     what expressions may name; parsed and type-checked by the library
    syntax_tree     the checked expression as a tree
    values          versions, optionals, and equality as CEL has it
    operators       arithmetic, order, membership, conversions
    functions       functions by name: texts, sets, quantities, versions, optionals, and those of
    lists           lists
    text_format     `'%d'.format([...])`
    regex           patterns
    network         addresses and networks
    urls            URLs
    named_formats   `format.dns1123Label().validate(...)`
    times           durations and timestamps
    costs           what calls cost
    program         an expression that can be run, and what it may cost

Law of the package: what an expression means is Kubernetes' environment for device selectors, its
default maps and its cost limit included. Parsing and type checking are the library's. Running is
ours: no library for Python counts the cost, and none has a map with defaults.
"""
