// libpq.h: libpq's functions, looked up when a database is first opened.
//
// Role:    dtcoord keeps its journal in SQLite unless it is given a PostgreSQL database. So it does
//          not link libpq, and starts where libpq is not installed.
// Threads: any.
// Errors:  FailedPrecondition if libpq.so.5 is missing or lacks a function; the message names the
//          package.
// Source:  https://www.postgresql.org/docs/15/libpq.html; all servers since 8.2 have version 5
// Tests:   tests/coordinator/store/libpq_test.cc
#pragma once

#include <libpq-fe.h>

#include "absl/status/status.h"

namespace dt {

// clang-format off
#define DT_LIBPQ_FUNCTIONS(F)                                                                     \
  F(PQcancel) F(PQclear) F(PQcmdStatus) F(PQcmdTuples) F(PQconnectdbParams) F(PQdb)               \
  F(PQerrorMessage) F(PQexec) F(PQfinish) F(PQfreeCancel) F(PQfreemem) F(PQftype) F(PQgetCancel)  \
  F(PQgetResult) F(PQgetisnull) F(PQgetlength) F(PQgetvalue) F(PQhost) F(PQntuples) F(PQprepare)  \
  F(PQreset) F(PQresultErrorField) F(PQresultErrorMessage) F(PQresultStatus)                      \
  F(PQsendQueryPrepared) F(PQsetNoticeProcessor) F(PQsetSingleRowMode) F(PQstatus)                \
  F(PQunescapeBytea)
// clang-format on

struct LibPq {
#define DT_LIBPQ_POINTER(name) decltype(&::name) name = nullptr;
  DT_LIBPQ_FUNCTIONS(DT_LIBPQ_POINTER)
#undef DT_LIBPQ_POINTER
};

// Loads libpq at the first call; later calls return the same status.
absl::Status LoadLibPq();

// Returns the functions. REQUIRES: LoadLibPq succeeded.
const LibPq& Pq();

// Fills `functions` from a library. LoadLibPq without its memory, for tests.
absl::Status LoadLibPqFrom(const char* library, LibPq& functions);

}  // namespace dt
