// version.h: which build this is, for provenance and --version.
#pragma once

namespace dt {

extern const char* const kVersion;   // "0.2.0"
extern const char* const kRevision;  // the commit; "unknown" outside a checkout
}  // namespace dt
