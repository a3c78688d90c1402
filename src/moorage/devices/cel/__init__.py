"""CEL: the expressions by which device classes and requests select devices.

    environment   what expressions may name; parsed and type-checked by Google's own C++ library
    syntax_tree   the checked expression as a tree
    values        quantities, versions, optionals, and equality as CEL has it
    operators     arithmetic, order, membership, conversions
    functions     strings, lists, quantities and semantic versions
    program       an expression that can be run, and what it may cost

Law of the package: what an expression means is Kubernetes' environment for device selectors, its
default maps and its cost limit included. Parsing and type checking are the library's. Running is
ours: no library for Python counts the cost, and none has a map with defaults.
"""
