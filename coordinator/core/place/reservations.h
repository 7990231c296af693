// reservations.h: collects slots for the first trial in line that needs more than are free, and
// lends them meanwhile.
//
// Role:      decides; live state alone, but for the requests that lent slots come back, which are
//            journalled. After a restart who waits first collects anew.
// Invariant: one reservation a kind of device, a second only where no slot would do for both; it is
//            kept until it starts, goes away or a larger priority is blocked, so that gangs start
//            one by one and none holds half of its slots while another holds the rest.
// Bound:     a gang with a reservation starts no later than when those it waits for, lent ones
//            left out, have ended, plus limits::kCheckpointStopGrace.
// Source:    search.md 4.3, with figures against strict order and backfill.
// Tests:     tests/coordinator/core/reservations_test.cc, tests/sim
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "coordinator/core/model/placement.h"
#include "coordinator/core/model/turn.h"

namespace dt {

// What a blocked trial asks for.
struct Wish {
  TrialId id;              // or a ticket
  Shape shape;             // of an elastic gang that of its least size
  std::string storage_id;  // that rank 0 must see; "": none
};

// Reservations of who does not wait any more, or could not run any more, end; the others take what
// is free.
void KeepReservations(Turn& turn);
// Whether its holder stands in a line, and may start.
bool StillWaits(const State& state, const Reservation& reservation);
// The reservation that has all its slots, and whose holder waits; or nullptr.
const Reservation* WholeReservation(const State& state);
const Reservation* ReservationOf(const LiveState& live, TrialId holder);
// Reserves for a trial that is blocked. Reservations of a smaller priority that are in the way end;
// where another is, nothing is reserved.
void Reserve(State& state, const Wish& wish, absl::Duration now);
// Has its reservation, if it has one, on this host.
void MoveReservation(Turn& turn, const Wish& wish, const std::string& host);
// Whose slots the attempt has some of, as long as they are reserved; or nullptr.
const Reservation* LenderOf(const LiveState& live, const LiveAttempt& attempt);
// Slots that are reserved and may be lent to the trial, with others that are free.
std::optional<Decision> Borrow(Turn& turn, const Wish& wish);
// On slots that it has reserved; with others that are free, where these would tear fewer groups of
// ranks that share layers.
Decision PlaceReserved(LiveState& live, const Reservation& reservation,
                       const std::string& storage_id);
// Asks for what was lent, where nothing else is missing.
void TakeBack(Turn& turn);
// --- Holds: slots for the next size of a gang that saves (elastic.h) ---
// For an attempt that has been asked to go on with another number of slots.
void HoldForResize(State& state, const LiveAttempt& attempt, absl::Duration now);
// Ends the holds of others that are in the way of who waits. True: there were any.
bool GiveWay(Turn& turn, const Wish& wish);
// Whether somebody who may start and fits the fleet waits for such slots.
bool SomebodyWants(const LiveState& live, const Constraint& constraint);

// When the reservation would be whole if nothing were lent; infinite: unknown.
absl::Duration ReadyAt(const State& state, const Reservation& reservation, absl::Duration now);
// When the attempt will have let go of its slots, as far as its pace tells; infinite: unknown.
absl::Duration ExpectedEnd(const State& state, const LiveAttempt& attempt, absl::Duration now);

}  // namespace dt
