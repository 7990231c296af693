// gate.h: who may read and who may act over HTTP.
//
// Role:      the door (coordinator/door/) for HTTP, and what takes its place without --auth=tokens:
//            then whoever may act over gRPC without showing anything may do so here, and no web
//            page from elsewhere that this host's browser has open.
// Ownership: borrows the door, which may be nullptr.
// Threads:   any.
// Errors:    Unauthenticated, PermissionDenied, InvalidArgument; each says what to do instead.
// Tests:     tests/coordinator/api/gate_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "api/json.h"
#include "coordinator/door/door.h"
#include "coordinator/http/http_server.h"

namespace dt {

struct GateRules {
  bool readers_show_token = false;  // with a door, off loopback
  std::string acts_closed;          // without a door: why nobody may act; "": this host may
};

class HttpGate {
 public:
  HttpGate(Door* door, GateRules rules) : door_(door), rules_(std::move(rules)) {}

  absl::Status AdmitReader(const HttpRequest& request) const;
  // The caller, where somebody's token says who it is.
  absl::StatusOr<std::optional<Caller>> AdmitActor(const HttpRequest& request,
                                                   std::string_view method) const;
  // Keeps what an admitted act came to.
  void Record(const std::optional<Caller>& caller, std::string_view method,
              std::string_view subject, const absl::Status& end, const std::string& peer) const;
  // What /api/v1/access answers: whether acting needs a token, and what whoever asks may do.
  api::Json Access(const HttpRequest& request) const;

 private:
  absl::Status CheckOrigin(const HttpRequest& request) const;

  Door* const door_;
  const GateRules rules_;
};

}  // namespace dt
