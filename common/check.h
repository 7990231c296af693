// check.h: assertions that stay on in production. A failed one is a bug in dtrain, never bad input.
#pragma once

#include <cstdio>
#include <cstdlib>

#define DT_CHECK(condition)                                                                \
  do {                                                                                     \
    if (!(condition)) [[unlikely]] {                                                       \
      std::fprintf(stderr, "%s:%d: bug in dtrain: %s does not hold\n", __FILE__, __LINE__, \
                   #condition);                                                            \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)
