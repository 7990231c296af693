// empty.cc: a library of which only the name is wanted.
