// fake_fleet.h: a minimal coordinator: it keeps what workers report, acknowledges it, and hands out
// the orders that a test sets. For tests of dtworker as a program.
//
// Threads: thread-safe; gRPC's threads serve, the test's thread looks.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dtrain/v1/fleet.grpc.pb.h"

namespace dt::testing {

namespace v1 = ::dtrain::v1;

class FakeFleet final : public v1::Fleet::Service {
 public:
  explicit FakeFleet(std::string address) : address_(std::move(address)) { Serve(); }
  ~FakeFleet() override { Stop(); }

  void Serve() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  // Breaks the streams, as a dying coordinator does.
  void Stop() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }

  // Gives these orders to every worker from its next report on.
  void Order(v1::Orders orders) {
    std::lock_guard lock(mutex_);
    orders_ = std::move(orders);
  }
  void Refuse(grpc::Status status) {
    std::lock_guard lock(mutex_);
    refusal_ = std::move(status);
  }
  // Returns the items in order of sequence, each once.
  std::vector<v1::Item> Items() const {
    std::lock_guard lock(mutex_);
    return items_;
  }
  std::vector<v1::Hello> Hellos() const {
    std::lock_guard lock(mutex_);
    return hellos_;
  }
  v1::WorkerReport Latest() const {
    std::lock_guard lock(mutex_);
    return latest_;
  }
  std::string EndMessage() const {
    const v1::Item* ended = nullptr;
    const auto items = Items();
    for (const v1::Item& item : items) {
      if (item.has_ended()) ended = &item;
    }
    return ended ? ended->ended().message() : "";
  }
  v1::Cause EndCause() const {
    v1::Cause cause = v1::CAUSE_UNSPECIFIED;
    for (const v1::Item& item : Items()) {
      if (item.has_ended()) cause = item.ended().cause();
    }
    return cause;
  }
  uint64_t LatestStep() const {
    const v1::WorkerReport latest = Latest();
    return latest.attempts().empty() ? 0 : latest.attempts(0).step();
  }

  grpc::Status Session(grpc::ServerContext*,
                       grpc::ServerReaderWriter<v1::Orders, v1::WorkerReport>* stream) override {
    v1::WorkerReport report;
    while (stream->Read(&report)) {
      v1::Orders orders;
      {
        std::lock_guard lock(mutex_);
        if (report.has_hello()) hellos_.push_back(report.hello());
        if (!refusal_.ok()) return refusal_;
        for (const v1::Item& item : report.items()) {
          if (item.sequence() == items_.size() + 1) items_.push_back(item);
        }
        latest_ = report;
        orders = orders_;
        orders.set_acked_sequence(items_.size());
      }
      orders.set_journal_id(1);
      if (!stream->Write(orders)) break;
    }
    return grpc::Status::OK;
  }

 private:
  const std::string address_;
  std::unique_ptr<grpc::Server> server_;
  mutable std::mutex mutex_;
  v1::Orders orders_;
  grpc::Status refusal_;
  std::vector<v1::Item> items_;
  std::vector<v1::Hello> hellos_;
  v1::WorkerReport latest_;
};

}  // namespace dt::testing
