// status.h: the two macros that pass a Status on, which Debian 12's Abseil does not have yet.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define DT_STATUS_CONCAT_INNER(a, b) a##b
#define DT_STATUS_CONCAT(a, b) DT_STATUS_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expression` is not OK.
#define DT_RETURN_IF_ERROR(expression)                            \
  do {                                                            \
    if (absl::Status dt_status = (expression); !dt_status.ok()) { \
      return dt_status;                                           \
    }                                                             \
  } while (false)

// Declares or assigns `target` from a StatusOr, or returns its error.
#define DT_ASSIGN_OR_RETURN(target, expression) \
  DT_ASSIGN_OR_RETURN_IMPL(DT_STATUS_CONCAT(dt_status_or_, __LINE__), target, expression)
#define DT_ASSIGN_OR_RETURN_IMPL(holder, target, expression) \
  auto holder = (expression);                                \
  if (!holder.ok()) return holder.status();                  \
  target = *std::move(holder)
