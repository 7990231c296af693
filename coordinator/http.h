// http.h: /metrics, /healthz and /readyz.
//
// Role:      three paths over civetweb, the server under prometheus-cpp's own exposer, which serves
//            metrics alone and adds series of its own in microseconds.
// Ownership: borrows the Metrics.
// Threads:   civetweb's two.
// Errors:    Start: FailedPrecondition naming the address, or InvalidArgument when it is not of
// this
//            experiment file says; who may read them is up to the address.
// Tests:     tests/coordinator/metrics_test.cc
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/metrics.h"

class CivetHandler;
class CivetServer;

namespace dt {

class HttpServer {
 public:
  // `health` says whether the core loop is alive; called by HTTP threads.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address,
                                                           const Metrics& metrics,
                                                           std::function<absl::Status()> health);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // With the port that was chosen.
  const std::string& address() const { return address_; }

 private:
  HttpServer();

  std::string address_;
  int port_ = 0;
  std::unique_ptr<CivetHandler> metrics_, healthz_, readyz_;
  std::unique_ptr<CivetServer> server_;  // last: stops before the handlers go
};

}  // namespace dt
