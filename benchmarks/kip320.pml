/*
 * kip-320 as an expert in Spin would write it: nothing in the state that follows from the rest, fields packed into
 * integers, one d_step an action, no option where another one's guard already says who acts.
 *
 *     spin -DREPLICAS=3 -DLOG_SIZE=3 -DMAX_RECORDS=3 -DMAX_EPOCH=3 -o1 -o2 -o3 -a kip320.pml
 *     gcc -O3 -march=native -DSAFETY -DNOREDUCE -DNOFAIR -DNOBOUNDCHECK -o pan pan.c && ./pan -E
 *
 * At most four replicas, three records a log, four records in all and epochs to three: that is what the fields hold.
 * No invariant is asserted, which is in Spin's favour. Its states are those of isrcheck (it counts as many).
 *
 * rep[r]: length of the log (2 bits), three records of 4 bits (id, epoch), high watermark (2), leader epoch + 1 (3),
 *         ISR (4), leader + 1 (3), 0 for none. Records beyond the length are zero.
 * req:    for each epoch its request, leader + 1 (3 bits) and ISR (4).
 * The quorum's epoch is next_epoch - 1, so it is not kept.
 */

int rep[REPLICAS];
int req;
byte quorum_isr = (1 << REPLICAS) - 1;
byte quorum_leader;
byte next_record;
byte next_epoch;

hidden int end;
hidden int leader;

#define LEN(r)       (rep[r] & 3)
#define RECORD(r, o) ((rep[r] >> (2 + 4 * (o))) & 15)
#define HW(r)        ((rep[r] >> 14) & 3)
#define EPOCH(r)     ((rep[r] >> 16) & 7)
#define ISR(r)       ((rep[r] >> 19) & 15)
#define LEADER(r)    ((rep[r] >> 23) & 7)
#define REQUEST_LEADER(e) ((req >> (7 * (e))) & 7)
#define REQUEST_ISR(e)    ((req >> (7 * (e) + 3)) & 15)
#define HAS(set, r)  (((set) >> (r)) & 1)
#define LOG          16383      /* length and records */
#define BELIEF       65535      /* and the high watermark */

/* The quorum's leader is in the quorum's epoch: it is the true leader, the only one that may write the ISR. */
#define TRUE_LEADER  (quorum_leader && EPOCH(quorum_leader - 1) == next_epoch)

#define DECIDE(l, isr) \
        req = req | (((l) | ((isr) << 3)) << (7 * next_epoch)); quorum_isr = (isr); quorum_leader = (l); \
        next_epoch = next_epoch + 1

#define WRITE_ISR(isr) \
        quorum_isr = (isr); rep[leader] = (rep[leader] & ~(15 << 19)) | ((isr) << 19)

#define OF_REPLICA(r) \
  :: d_step { /* controller-elect-leader */ \
       next_epoch <= MAX_EPOCH && HAS(quorum_isr, r) && quorum_leader != r + 1 -> \
       DECIDE(r + 1, quorum_isr) \
     } \
  :: d_step { /* controller-shrink-isr */ \
       next_epoch <= MAX_EPOCH && (quorum_leader == r + 1 || HAS(quorum_isr, r)) -> \
       end = (quorum_leader == r + 1 && quorum_isr == (1 << r) -> quorum_isr : quorum_isr & ~(1 << r)); \
       leader = (quorum_leader == r + 1 -> 0 : quorum_leader); \
       DECIDE(leader, end); end = 0; leader = 0 \
     } \
  :: d_step { /* leader-write */ \
       LEADER(r) == r + 1 && next_record < MAX_RECORDS && LEN(r) < LOG_SIZE -> \
       rep[r] = (rep[r] | (((next_record << 2) | (EPOCH(r) - 1)) << (2 + 4 * LEN(r)))) + 1; \
       next_record = next_record + 1 \
     } \
  :: d_step { /* fenced-leader-shrink-isr */ \
       TRUE_LEADER && quorum_leader != r + 1 && HAS(ISR(quorum_leader - 1), r) \
       && (EPOCH(r) != next_epoch || LEN(r) < LEN(quorum_leader - 1)) -> \
       leader = quorum_leader - 1; end = ISR(leader) & ~(1 << r); WRITE_ISR(end); end = 0; leader = 0 \
     } \
  :: d_step { /* fenced-leader-expand-isr */ \
       TRUE_LEADER && quorum_leader != r + 1 && !HAS(ISR(quorum_leader - 1), r) \
       && EPOCH(r) == next_epoch && LEN(r) >= HW(quorum_leader - 1) \
       && (HW(quorum_leader - 1) == LEN(quorum_leader - 1) \
           || (RECORD(quorum_leader - 1, HW(quorum_leader - 1)) & 3) == next_epoch - 1) -> \
       leader = quorum_leader - 1; end = ISR(leader) | (1 << r); WRITE_ISR(end); end = 0; leader = 0 \
     } \
  :: d_step { /* fenced-leader-inc-high-watermark */ \
       LEADER(r) == r + 1 && HW(r) < LEN(r) && EVERY_MEMBER(r) -> \
       rep[r] = rep[r] + (1 << 14) \
     } \
  :: d_step { /* fenced-follower-fetch */ \
       LEADER(r) && LEADER(r) != r + 1 && EPOCH(LEADER(r) - 1) == EPOCH(r) && LEN(r) < LEN(LEADER(r) - 1) -> \
       leader = LEADER(r) - 1; end = LEN(r); \
       rep[r] = ((rep[r] | (RECORD(leader, end) << (2 + 4 * end))) + 1) & ~(3 << 14); \
       rep[r] = rep[r] | ((HW(leader) < end + 1 -> HW(leader) : end + 1) << 14); \
       end = 0; leader = 0 \
     }

/* A replica takes a request: as its leader, or as a follower if the leader is in that epoch. */
#define OF_REQUEST(r, e) \
  :: d_step { \
       e < next_epoch && EPOCH(r) <= e && REQUEST_LEADER(e) \
       && (REQUEST_LEADER(e) == r + 1 || EPOCH(REQUEST_LEADER(e) - 1) == e + 1) -> \
       if \
       :: REQUEST_LEADER(e) == r + 1 -> /* become-leader */ \
          rep[r] = (rep[r] & BELIEF) | ((e + 1) << 16) | (REQUEST_ISR(e) << 19) | ((r + 1) << 23) \
       :: else -> /* fenced-become-follower-and-truncate */ \
          leader = REQUEST_LEADER(e) - 1; \
          end = (LEN(r) < LEN(leader) -> LEN(r) : LEN(leader)); \
          do \
          :: end > 0 && RECORD(r, end - 1) != RECORD(leader, end - 1) -> end = end - 1 \
          :: else -> break \
          od; \
          rep[r] = (rep[r] & (((1 << (4 * end)) - 1) << 2)) | end \
                 | ((HW(r) < end -> HW(r) : end) << 14) | ((e + 1) << 16) | (REQUEST_ISR(e) << 19) \
                 | ((leader + 1) << 23); \
          end = 0; leader = 0 \
       fi \
     }

#define MEMBER(l, f) (!HAS(ISR(l), f) || (EPOCH(f) == EPOCH(l) && LEN(f) > HW(l)))
#if REPLICAS == 2
#define EVERY_MEMBER(l) (MEMBER(l, 0) && MEMBER(l, 1))
#elif REPLICAS == 3
#define EVERY_MEMBER(l) (MEMBER(l, 0) && MEMBER(l, 1) && MEMBER(l, 2))
#else
#define EVERY_MEMBER(l) (MEMBER(l, 0) && MEMBER(l, 1) && MEMBER(l, 2) && MEMBER(l, 3))
#endif

#if MAX_EPOCH == 0
#define REQUESTS(r) OF_REQUEST(r, 0)
#elif MAX_EPOCH == 1
#define REQUESTS(r) OF_REQUEST(r, 0) OF_REQUEST(r, 1)
#elif MAX_EPOCH == 2
#define REQUESTS(r) OF_REQUEST(r, 0) OF_REQUEST(r, 1) OF_REQUEST(r, 2)
#else
#define REQUESTS(r) OF_REQUEST(r, 0) OF_REQUEST(r, 1) OF_REQUEST(r, 2) OF_REQUEST(r, 3)
#endif

active proctype cluster() {
  do
  OF_REPLICA(0) REQUESTS(0)
  OF_REPLICA(1) REQUESTS(1)
#if REPLICAS > 2
  OF_REPLICA(2) REQUESTS(2)
#endif
#if REPLICAS > 3
  OF_REPLICA(3) REQUESTS(3)
#endif
  od
}
