// check.h: whether a journal is whole: its structure, its records' chain, its rows' checksums, and
// whether all that its mark promises is there.
//
// Role:      asked before a coordinator opens a journal, and by `dtcoord check`; writes nothing.
// Threads:   thread-compatible. REQUIRES: nobody writes to the journal meanwhile.
// Errors:    what hinders the check itself, such as a journal of a newer version; damage is a
//            finding.
// Tests:     tests/coordinator/store/damage_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "coordinator/store/head.h"
#include "coordinator/store/journal.h"
#include "coordinator/store/mark.h"
#include "coordinator/store/schema.h"

namespace dt {

struct JournalReport {
  int64_t schema = 0;   // 0: there is no journal, and nobody was promised one
  bool in_use = false;  // the last coordinator did not stop cleanly
  bool marked = false;  // there is a mark to hold it against
  std::optional<Head> head;
  int64_t records = 0;
  std::array<int64_t, kSides> rows = {};
  std::vector<std::string> damage;  // empty: whole, as far as was looked
  std::vector<std::string> spare;   // damage that a start does without: of snapshots
  std::string missing;              // what was acknowledged and is not there; empty: nothing
};

// Looks at everything when the file has at most `bytes_max` bytes or was not closed cleanly, else
// at what a start reads anyway.
absl::StatusOr<JournalReport> CheckJournal(const std::string& path, uint64_t bytes_max);

// The journal's mark is beside it.
std::string MarkPathOf(const std::string& path);
// What `mark` promises and `head` lacks, in words; empty: nothing.
std::string MissingOf(const Head& head, const std::optional<Mark>& mark);
// The experiments that readable rows behind `sequence` speak of, in words.
std::string ExperimentsBehind(Database& database, int64_t sequence);
// Says what is wrong and what to do about it, for a person.
std::string Refusal(const std::string& path, const std::vector<std::string>& wrong);
// Both in one list.
std::vector<std::string> WrongOf(const JournalReport& report);

}  // namespace dt
