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

// The same for a type with ok() and ToString(), whose text gives the reason.
#define DT_CHECK_OK(status)                                                  \
  do {                                                                       \
    if (const auto& dt_checked = (status); !dt_checked.ok()) [[unlikely]] {  \
      std::fprintf(stderr, "%s:%d: bug in dtrain: %s\n", __FILE__, __LINE__, \
                   dt_checked.ToString().c_str());                           \
      std::abort();                                                          \
    }                                                                        \
  } while (false)
