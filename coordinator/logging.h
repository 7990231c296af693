// logging.h: how dtcoord writes its log: text for a person at a terminal, lines with a priority for
// journald, JSON otherwise.
#pragma once

namespace dt {

// Sets spdlog's default logger, which writes to stderr. Call once, before other threads start.
void SetUpLogging();
// Writes what waits. Nothing may be logged afterwards.
void FinishLogging();

}  // namespace dt
