// gate.h: decides who may read and who may act over HTTP.
//
// Role:      the door (coordinator/door/) for HTTP, and its replacement without --auth=tokens:
//            callers that may act over gRPC without credentials may act here too. A page from
//            elsewhere in this host's browser may not.
// Ownership: borrows the door, which may be nullptr.
// Threads:   any.
// Errors:    Unauthenticated, PermissionDenied, InvalidArgument; each says what to do instead.
// Tests:     tests/coordinator/api/gate_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "api/json.h"
#include "coordinator/door/door.h"
#include "coordinator/http/http_server.h"

namespace dt {

struct GateRules {
  bool readers_show_token = false;  // with a door, unless on loopback
  std::string acts_closed;          // without a door: why nobody may act; "": this host may
};

class HttpGate {
 public:
  HttpGate(Door* door, GateRules rules) : door_(door), rules_(std::move(rules)) {}

  absl::Status AdmitReader(const HttpRequest& request) const;
  // Returns the caller if a token identifies one.
  absl::StatusOr<std::optional<Caller>> AdmitActor(const HttpRequest& request,
                                                   std::string_view method) const;
  // Records the outcome of an admitted act.
  void Record(const std::optional<Caller>& caller, std::string_view method,
              std::string_view subject, const absl::Status& end, const std::string& peer) const;
  // Returns the answer of /api/v1/access: whether acting needs a token, and which of the acts the
  // caller may do.
  api::Json Access(const HttpRequest& request, const std::vector<std::string_view>& acts) const;

 private:
  absl::Status CheckOrigin(const HttpRequest& request) const;

  Door* const door_;
  const GateRules rules_;
};

}  // namespace dt
