/* SPDX-License-Identifier: MIT
 *
 * The centralized algorithm as `conclave check` sees it, event by event: the last node coordinates, counts its grants
 * and keeps a queue; channels are FIFO, each node enters ENTRIES times if it likes. Every event is one d_step.
 */
#ifndef N
#define N 3
#endif
#ifndef ENTRIES
#define ENTRIES 1
#endif
#define C (N - 1) /* the coordinator */
#define NOBODY 255

#define IDLE 0
#define WAITING 1
#define INSIDE 2
#define REQUEST 0
#define RELEASE 1

chan asked[N] = [2] of { bit };      /* to the coordinator: REQUEST or RELEASE */
chan granted[N] = [2] of { byte };   /* from it: the fence */
chan queue = [N] of { byte };

byte phase[N];
byte left[N] = ENTRIES;
byte holder = NOBODY;
byte grants;
byte highest;

#define enter(who, fence)                                                                                              \
    phase[who] = INSIDE;                                                                                               \
    assert(fence > highest);                                                                                           \
    highest = fence

#define let_in(who)                                                                                                    \
    grants = grants + 1;                                                                                               \
    holder = who;                                                                                                      \
    if                                                                                                                 \
    :: who == C -> enter(C, grants)                                                                                     \
    :: who != C -> granted[who]!grants                                                                                      \
    fi

#define let_next_in                                                                                                    \
    holder = NOBODY;                                                                                                   \
    if                                                                                                                 \
    :: len(queue) > 0 ->                                                                                               \
        queue?next;                                                                                                    \
        let_in(next);                                                                                                  \
        next = 0                                                                                                       \
    :: len(queue) == 0                                                                                                 \
    fi

#define hear(j)                                                                                                        \
    d_step {                                                                                                           \
        i == C && j < C && nempty(asked[j]) -> asked[j]?kind;                                                          \
        if                                                                                                             \
        :: kind == REQUEST && holder == NOBODY -> let_in(j)                                                            \
        :: kind == REQUEST && holder != NOBODY -> queue!j                                                              \
        :: kind == RELEASE -> let_next_in                                                                              \
        fi;                                                                                                            \
        kind = 0                                                                                                       \
    }

#define i _pid

active [N] proctype node()
{
    bit kind;
    byte next;
    byte fence;
end:
    do
    :: d_step {
           left[i] > 0 && phase[i] == IDLE -> left[i] = left[i] - 1;
           phase[i] = WAITING;
           if
           :: i == C && holder == NOBODY -> let_in(C)
           :: i == C && holder != NOBODY -> queue!C
           :: i != C -> asked[i]!REQUEST
           fi
       }
    :: d_step {
           phase[i] == INSIDE -> phase[i] = IDLE;
           if
           :: i == C -> let_next_in
           :: i != C -> asked[i]!RELEASE
           fi
       }
    :: d_step {
           nempty(granted[i]) -> granted[i]?fence;
           enter(i, fence);
           fence = 0
       }
    :: hear(0)
    :: hear(1)
#if N > 3
    :: hear(2)
#endif
#if N > 4
    :: hear(3)
#endif
    od
}
