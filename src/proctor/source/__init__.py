"""Python source as data: what its statements bind, need and import, and how parts of it are cut out. Nothing is run.

text        source and its syntax tree: which characters a node stands for; statements put back at their own lines
names       the names that a statement binds, and the global names that it refers to, by Python's rules of scope
statements  the statements at the top level of a source, each with its text, line and names
closure     names with all that they use, and nothing else
stub        a definition without its body
cells       a cell of IPython as Python

Each takes time and memory in proportion to the source, however it is written: none recurses, none looks at a statement
once for every other. Python's standard library is all that it needs.
"""
