// membership.cc: see membership.h.
#include "worker/trainer/run/membership.h"

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "worker/trainer/parallel/ddp.h"

namespace dt::trainer {

absl::Status Meet(const frames::Start& start, Device& device, Conversation& conversation,
                  const AttemptOptions& options, const std::shared_ptr<Mesh>& mesh) {
  if (start.world_size == 1 && options.alone == AttemptOptions::Alone::kPlain)
    return absl::OkStatus();
  const std::string listen = start.data_address.empty() ? "127.0.0.1" : start.data_address;
  mesh->Prepare(device, {.rank = start.rank,
                         .size = start.world_size,
                         .key_prefix = start.token,
                         .listen_host = listen});
  // From here on, because a rank may wait long for peers that do not come.
  conversation.AbortWith([mesh] { mesh->Abort(); });
  Rendezvous meeting;
  if (start.rank == 0 && start.store_address.empty()) {
    DT_ASSIGN_OR_RETURN(meeting, HostStore(listen, options.store_port));
    conversation.Say(frames::StoreUp{start.token, meeting.address});
  } else {
    DT_ASSIGN_OR_RETURN(const std::string address,
                        conversation.AwaitStoreAddress(kRendezvousTimeout));
    DT_ASSIGN_OR_RETURN(meeting, ConnectStore(address));
  }
  return mesh->Join(device, meeting);
}

std::unique_ptr<Strategy> MakeStrategy(const std::vector<Piece>& pieces, const Membership& members,
                                       double bucket_mb, BucketLayout layout) {
  const std::shared_ptr<Group>& group = members.mesh->group(Axis::kData);
  if (group == nullptr) return std::make_unique<AloneStrategy>(pieces);
  return std::make_unique<ReducerStrategy>(pieces, group, members.timeline,
                                           ReducerOptions{bucket_mb, std::move(layout)});
}

}  // namespace dt::trainer
