// check_tables.h: checks the tables of a journal in any database: the chain of records, the rows'
// checksums and their sums.
//
// Threads:   thread-compatible. REQUIRES: no process writes to the journal meanwhile.
// Errors:    obstacles to the check itself. Damage is a finding, not an error.
// Tests:     tests/coordinator/store/damage_test.cc, store_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/head.h"
#include "coordinator/store/schema.h"
#include "coordinator/store/sql.h"

namespace dt {

struct JournalReport {
  int64_t schema = 0;   // 0: there is no journal, and no mark promises one
  bool in_use = false;  // the last coordinator did not stop cleanly
  bool marked = false;  // a mark exists to compare with
  std::optional<StoreHead> head;
  int64_t records = 0;
  std::array<int64_t, kSides> rows = {};
  std::vector<std::string> damage;  // empty: nothing damaged, as far as was checked
  std::vector<std::string> spare;   // damage that a start can do without: snapshots
  std::string missing;              // acknowledged data that is missing; empty: none
};

enum class Thoroughness { kSmallTables, kEverything };
// Finds damage in a database without a file of its own to check.
absl::StatusOr<JournalReport> CheckTables(Connection& database, Thoroughness thoroughness);

// The parts of a check. Each reports its findings; unreadable parts count as damage.
class TableCheck {
 public:
  // `scan` is appended to a table's name when the complete table is read.
  TableCheck(Connection& database, JournalReport& report, const char* scan)
      : database_(database), report_(report), scan_(scan) {}

  // REQUIRES, for these two: report.head is set.
  void Chain();
  void Side(size_t number);
  void Snapshots();
  void Tell(std::string line);

 protected:
  void Note(const std::function<absl::Status()>& look);

 private:
  Connection& database_;
  JournalReport& report_;
  const char* const scan_;
};

// Describes the experiments in the readable rows after `sequence`.
std::string ExperimentsBehind(Connection& database, int64_t sequence);
// Returns "3 to 7", or "3".
std::string Range(int64_t first, int64_t last);

}  // namespace dt
