//! What a script, the environment and the command line ask for, as one checked set of options, and the plan it makes.
