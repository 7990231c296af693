// noted_container.h: a note on the disk that a container of this slot may be there, so that none
// outlives its dtprogram for long.
//
// Role:    written before a container starts, and removed with it. A dtprogram or dtworker that
//          begins on the slot ends the container of an earlier one that was killed.
// Threads: one process of a slot at a time: the one with the slot's lock.
// Errors:  IoError if the note cannot be written. If the runtime does not remove the container, the
//          note stays for the next one that begins.
// Tests:   tests/worker/program/container_test.cc
#pragma once

#include <string>

#include "common/spawn.h"
#include "common/status.h"
#include "worker/environments/image.h"

namespace dt::environments {

// Returns the note's file in the store, for the slot with this scratch folder.
std::string ContainerNote(const std::string& store, const std::string& scratch);
// `runtime`: path of its program.
absl::Status NoteContainer(const std::string& note, const std::string& runtime,
                           const std::string& name);
// Ends and removes the container of the note, if there is one. `variables`: the runtime's. Returns
// false if the runtime failed.
bool EndNotedContainer(const std::string& note, const Environment& variables);

}  // namespace dt::environments
