// schema.h: the database's tables. user_version counts changes of shape; kinds of records are
// counted by their own numbers in record.proto.
#pragma once

namespace dt {

inline constexpr int kSchemaVersion = 1;
// Of how a record is laid down in the journal's blob; a higher one stops start-up.
inline constexpr int kRecordVersion = 1;
// "dtrn": tells this file from other people's databases.
inline constexpr int kApplicationId = 0x6474726e;

inline constexpr char kSchema[] = R"sql(
CREATE TABLE journal (
  sequence INTEGER PRIMARY KEY,
  kind     INTEGER NOT NULL,
  version  INTEGER NOT NULL,
  record   BLOB NOT NULL
);
-- Which build wrote from which sequence on: names the version when a newer kind stops start-up.
CREATE TABLE writers (
  first_sequence INTEGER PRIMARY KEY,
  version        TEXT NOT NULL
);
-- One row: 1 while a coordinator has the journal open or died having it.
CREATE TABLE in_use (flag INTEGER NOT NULL);
INSERT INTO in_use VALUES (0);

CREATE TABLE acks (
  worker   TEXT NOT NULL,
  instance INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  touched  INTEGER NOT NULL,
  PRIMARY KEY (worker, instance)
) WITHOUT ROWID;

CREATE TABLE chunks (
  id         INTEGER PRIMARY KEY,
  experiment INTEGER NOT NULL,
  trial      INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  first_step INTEGER NOT NULL,
  last_step  INTEGER NOT NULL,
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
  text         BLOB NOT NULL
);
CREATE INDEX logs_by_trial ON logs (experiment, trial);

-- Where an attempt resumed: decides which rows of earlier attempts still hold.
CREATE TABLE runs (
  experiment   INTEGER NOT NULL,
  trial        INTEGER NOT NULL,
  attempt      INTEGER NOT NULL,
  resumed_step INTEGER NOT NULL,
  PRIMARY KEY (experiment, trial, attempt)
) WITHOUT ROWID;

CREATE TABLE evaluations (
  id         INTEGER PRIMARY KEY,
  experiment INTEGER NOT NULL,
  trial      INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  evaluation BLOB NOT NULL
);
CREATE INDEX evaluations_by_trial ON evaluations (experiment, trial);

-- Deleted experiments whose side rows are still being cleared, a few with each commit.
CREATE TABLE deleting (experiment INTEGER PRIMARY KEY);
)sql";

}  // namespace dt
