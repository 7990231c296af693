// reservations.h: collects slots for the first trial in line that needs more than are free, and
// lends them meanwhile.
//
// Role:      decides; live state only, except for the requests to return lent slots, which are
//            journalled. After a restart the first waiting trial collects anew.
// Invariant: one reservation per kind of device, a second one only if no slot fits both. It is kept
//            until its trial starts or goes away, or a larger priority is blocked. So gangs start
//            one by one, and none holds half of its slots while another holds the rest.
// Bound:     a gang with a reservation starts at the latest limits::StopGrace of the borrowers
//            after the gangs that it waits for have ended.
// Source:    search.md 4.3, with figures against strict order and backfill.
// Tests:     tests/coordinator/core/reservations_test.cc, tests/sim
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "coordinator/core/model/placement.h"
#include "coordinator/core/model/turn.h"

namespace dt {

// Needs of a blocked trial.
struct SlotRequest {
  TrialId id;              // or a ticket
  Shape shape;             // for an elastic gang at its least size
  std::string storage_id;  // rank 0 must see it; "": none
};

// Ends reservations of trials that wait no more or could not run any more. The others take free
// slots.
void KeepReservations(Turn& turn);
// Returns whether its holder is in a line and may start.
bool StillWaits(const State& state, const Reservation& reservation);
// Returns the reservation that has all its slots and whose holder waits, or nullptr.
const Reservation* WholeReservation(const State& state);
const Reservation* ReservationOf(const LiveState& live, TrialId holder);
// Reserves for a blocked trial. Ends conflicting reservations of a smaller priority; if another
// conflicts, reserves nothing.
void Reserve(State& state, const SlotRequest& request, absl::Duration now);
// Moves the reservation of the request, if it has one, to this host.
void MoveReservation(Turn& turn, const SlotRequest& request, const std::string& host);
// Returns the reservation from which the attempt borrows slots, or nullptr.
const Reservation* LenderOf(const LiveState& live, const LiveAttempt& attempt);
// Returns a placement on reserved slots that may be lent, together with free ones.
std::optional<Decision> Borrow(Turn& turn, const SlotRequest& request);
// Places on the reserved slots. Uses other free slots too if then fewer groups of ranks that share
// layers are split over hosts.
Decision PlaceReserved(LiveState& live, const Reservation& reservation,
                       const std::string& storage_id);
// Asks for lent slots back if nothing else is missing.
void TakeBack(Turn& turn);
// --- Holds: slots for the next size of a gang that saves (elastic.h) ---
// Holds slots for an attempt that was asked to go on with another number of slots.
void HoldForResize(State& state, const LiveAttempt& attempt, absl::Duration now);
// Ends the holds of others that block the request. Returns whether there were any.
bool GiveWay(Turn& turn, const SlotRequest& request);
// Returns whether a trial that may start and fits the fleet waits for such slots.
bool SomebodyWants(const LiveState& live, const Constraint& constraint);

// Returns when the reservation would be complete if nothing were lent; infinite if unknown.
absl::Duration ReadyAt(const State& state, const Reservation& reservation, absl::Duration now);
// Returns when the attempt should have left its slots, by its pace; infinite if unknown.
absl::Duration ExpectedEnd(const State& state, const LiveAttempt& attempt, absl::Duration now);

}  // namespace dt
