// access_service.h: the Access service: tokens and the audit record.
//
// Role:      converts requests and hands them to the door's thread; decides nothing.
// Ownership: borrows the door (nullptr without --auth=tokens) and the statistics.
// Threads:   gRPC's threads call; the door's thread answers.
// Errors:    FailedPrecondition without a door.
// Tests:     tests/coordinator/rpc/door_test.cc
#pragma once

#include <string_view>

#include "coordinator/door/door.h"
#include "coordinator/rpc/rpc_stats.h"
#include "dtrain/v1/access.grpc.pb.h"

namespace dt {

class AccessService final
    : public v1::Access::WithRawCallbackMethod_CreateToken<
          v1::Access::WithRawCallbackMethod_ListTokens<
              v1::Access::WithRawCallbackMethod_RevokeToken<
                  v1::Access::WithRawCallbackMethod_ListAudit<
                      v1::Access::WithRawCallbackMethod_Join<v1::Access::Service>>>>> {
 public:
  AccessService(Door* door, RpcStats& stats) : door_(door), stats_(stats) {}

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  using Bytes = grpc::ByteBuffer;
  Reactor* CreateToken(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListTokens(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* RevokeToken(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListAudit(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* Join(Context* context, const Bytes* request, Bytes* response) override;

 private:
  // Runs `act` on the door's thread.
  template <typename Request, typename Act>
  Reactor* Do(std::string_view method, Context* context, const Bytes* bytes, Bytes* response,
              Act act);

  Door* door_;
  RpcStats& stats_;
};

}  // namespace dt
