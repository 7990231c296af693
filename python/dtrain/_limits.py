"""Every bound of the client, with its reason. Bounds that common/limits.h also has are equal."""

# Deadline of every call. The coordinator refuses a call with more than a minute.
CALL_SECONDS = 30.0
CALL_SECONDS_MAX = 60.0
# A call has at least so long, even if the caller's own time is over: a coordinator that is well answers within it.
CALL_SECONDS_LEAST = 5.0
# A submission is repeated with the same request id while a coordinator restarts; after this it is down.
SUBMIT_PATIENCE_SECONDS = 10.0
SUBMIT_RETRY_FIRST_SECONDS = 0.3
SUBMIT_RETRY_MAX_SECONDS = 5.0
# Addresses of coordinators that take turns, and how long they are asked in turn while one is a standby.
COORDINATOR_ADDRESSES = 8
TAKEOVER_SECONDS = 15.0
TAKEOVER_POLL_SECONDS = 0.25
# Waiting outlives a restart of the coordinator and a reboot of its host.
FOLLOW_PATIENCE_SECONDS = 300.0
# The first pause of a client that asks for a trial and gets none. A search with few trials at once gives one as soon as
# another has ended.
ASK_FIRST_SECONDS = 0.05
# The lease of a trial that a client runs, unless it asks for another time, and how often it is renewed: a cancel is
# noticed by then too.
LEASE_SECONDS = 60.0
BEAT_SECONDS = 2.0
# The pause between two looks while waiting.
POLL_SECONDS = 1.0
# Messages of the coordinator have at most this size.
MESSAGE_BYTES = 8 << 20
# The largest pages that the coordinator gives.
LIST_PAGE = 1000
METRIC_PAGE = 20000
LOG_PAGE = 64
# A byte more of a file is read, so that the coordinator can report that it is too long.
FILE_BYTES = 1 << 20
# The size of a packed folder of code, and of the part that a call carries.
CODE_BYTES = 32 << 20
CODE_FILES = 10_000
CODE_PART_BYTES = 1 << 20
# Bytes kept of a work tree's changes, and of its revision.
CODE_CHANGES_BYTES = 16 << 10
NAME_BYTES = 256
# Times that code is sent again if the coordinator lacks parts: one that restarts forgets them.
CODE_ROUNDS = 3
# A person's file of contexts, some 200 bytes each.
CONTEXTS_BYTES = 64 << 10
# Experiments of one name that an error lists.
NAMES_SHOWN = 10
