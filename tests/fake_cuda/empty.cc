// empty.cc: a library that is needed only for its name.
