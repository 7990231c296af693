// schema.h: the database's tables in SQLite's form; WithPostgresTypes replaces the types for
// PostgreSQL. user_version counts changes of shape; record.proto has its own numbers for kinds of
// records.
#pragma once

#include <array>
#include <cstddef>

namespace dt {

// Each version has different tables, so a check can distinguish a newer version from a damaged
// number. Version 1 is from 0.1.0, without hashes and checksums; rebuild.h makes it 2.
inline constexpr int kSchemaVersion = 2;
// The version of a record's layout in the journal's blob; a higher one stops the start.
inline constexpr int kRecordVersion = 1;
// "dtrn": distinguishes this file from other programs' databases.
inline constexpr int kApplicationId = 0x6474726e;

// The page size of the database file; its header has it too.
inline constexpr int kDatabasePageBytes = 8192;

inline constexpr char kSchema[] = R"sql(
CREATE TABLE journal (
  sequence INTEGER PRIMARY KEY,
  kind     INTEGER NOT NULL,
  version  INTEGER NOT NULL,
  record   BLOB NOT NULL,
  hash     TEXT NOT NULL
);
-- Which build wrote from which sequence on: names the version when a newer kind stops start-up.
CREATE TABLE writers (
  first_sequence INTEGER PRIMARY KEY,
  version        TEXT NOT NULL
);
-- One row: 1 while a coordinator has the journal open or died having it.
CREATE TABLE in_use (flag INTEGER NOT NULL);
INSERT INTO in_use VALUES (0);

-- One row: what the newest commit left. The columns named as tables are sums of their checksums.
CREATE TABLE head (
  id          INTEGER PRIMARY KEY,
  store       TEXT NOT NULL,
  commits     INTEGER NOT NULL,
  sequence    INTEGER NOT NULL,
  hash        TEXT NOT NULL,
  experiment  INTEGER NOT NULL,
  chunks      INTEGER NOT NULL,
  logs        INTEGER NOT NULL,
  runs        INTEGER NOT NULL,
  evaluations INTEGER NOT NULL,
  acks        INTEGER NOT NULL,
  deleting    INTEGER NOT NULL,
  checksum    INTEGER NOT NULL
);

CREATE TABLE acks (
  worker   TEXT NOT NULL,
  instance INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  touched  INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (worker, instance)
) WITHOUT ROWID;

CREATE TABLE chunks (
  id         INTEGER PRIMARY KEY,
  experiment INTEGER NOT NULL,
  trial      INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  first_step INTEGER NOT NULL,
  last_step  INTEGER NOT NULL,
  checksum   INTEGER NOT NULL,
  rows       BLOB NOT NULL
);
CREATE INDEX chunks_by_step ON chunks (experiment, trial, first_step, attempt, last_step);

CREATE TABLE logs (
  id           INTEGER PRIMARY KEY,
  experiment   INTEGER NOT NULL,
  trial        INTEGER NOT NULL,
  attempt      INTEGER NOT NULL,
  rank         INTEGER NOT NULL,
  wall_time_ms INTEGER NOT NULL,
  dropped      INTEGER NOT NULL,
  checksum     INTEGER NOT NULL,
  text         BLOB NOT NULL
);
CREATE INDEX logs_by_trial ON logs (experiment, trial);

-- Where an attempt resumed: decides which rows of earlier attempts still hold.
CREATE TABLE runs (
  experiment   INTEGER NOT NULL,
  trial        INTEGER NOT NULL,
  attempt      INTEGER NOT NULL,
  resumed_step INTEGER NOT NULL,
  checksum     INTEGER NOT NULL,
  PRIMARY KEY (experiment, trial, attempt)
) WITHOUT ROWID;

CREATE TABLE evaluations (
  id         INTEGER PRIMARY KEY,
  experiment INTEGER NOT NULL,
  trial      INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  checksum   INTEGER NOT NULL,
  evaluation BLOB NOT NULL
);
CREATE INDEX evaluations_by_trial ON evaluations (experiment, trial);

-- Deleted experiments whose side rows are still being cleared, a few with each commit.
CREATE TABLE deleting (
  experiment INTEGER PRIMARY KEY,
  checksum   INTEGER NOT NULL
);

-- The durable state after the record of this number and hash, in parts.
CREATE TABLE snapshots (
  sequence INTEGER PRIMARY KEY,
  hash     TEXT NOT NULL,
  parts    INTEGER NOT NULL,
  checksum INTEGER NOT NULL
);
CREATE TABLE snapshot_parts (
  sequence INTEGER NOT NULL,
  part     INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  content  BLOB NOT NULL,
  PRIMARY KEY (sequence, part)
);
)sql";

// The tables beside the journal whose rows have a checksum over `columns`, in this order. `order`
// is the order of writing, if it matters.
struct SideTable {
  const char* name;
  const char* order;
  const char* columns;
  int count;    // of columns
  bool always;  // small enough to check at every start
};
enum Side : size_t { kChunks, kLogs, kRuns, kEvaluations, kAcks, kDeleting, kSides };
inline constexpr std::array<SideTable, kSides> kSideTables = {{
    {"chunks", "id", "experiment, trial, attempt, first_step, last_step, rows", 6, false},
    {"logs", "id", "experiment, trial, attempt, rank, wall_time_ms, dropped, text", 7, false},
    {"runs", "experiment", "experiment, trial, attempt, resumed_step", 4, true},
    {"evaluations", "id", "experiment, trial, attempt, evaluation", 4, false},
    {"acks", "worker", "worker, instance, sequence, touched", 4, true},
    {"deleting", "experiment", "experiment", 1, true},
}};

}  // namespace dt
