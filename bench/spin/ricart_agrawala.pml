/* SPDX-License-Identifier: MIT
 *
 * Ricart and Agrawala's algorithm as `conclave check` sees it, event by event: Lamport clocks tick with every event and
 * every send, a multicast ticks once, channels are FIFO, each node enters ENTRIES times if it likes. Every event is one
 * d_step, so that states are counted alike; `scratch` variables are set back so that they tell no states apart.
 */
#ifndef N
#define N 3
#endif
#ifndef ENTRIES
#define ENTRIES 1
#endif
#ifndef ASKERS
#define ASKERS N /* the others only answer */
#endif
#define ROOM (2 * ENTRIES + 1)

#if N == 4
#define FOURTH (mode[3] == HELD)
#else
#define FOURTH 0
#endif

#define RELEASED 0
#define WANTED 1
#define HELD 2
#define REQUEST 0
#define OK 1

chan link[N * N] = [ROOM] of { bit, byte, byte }; /* kind, the request's time, the sender's clock */

byte clock[N];
byte time[N];
byte mode[N];
byte missing[N];
byte deferred[N]; /* a bit per node */
byte left[N] = ENTRIES;
short highest; /* of the fences */

#define enter(i)                                                                                                       \
    mode[i] = HELD;                                                                                                    \
    assert((mode[0] == HELD) + (mode[1] == HELD) + (mode[2] == HELD) + FOURTH == 1);                                   \
    assert(time[i] * N + i > highest);                                                                                 \
    highest = time[i] * N + i

#define hear(i, j)                                                                                                     \
    d_step {                                                                                                           \
        i != j && nempty(link[j * N + i]) -> link[j * N + i]?kind, stamp, theirs;                                              \
        if                                                                                                             \
        :: theirs > clock[i] -> clock[i] = theirs                                                                      \
        :: else                                                                                                        \
        fi;                                                                                                            \
        clock[i] = clock[i] + 1;                                                                                       \
        if                                                                                                             \
        :: kind == REQUEST && (mode[i] == HELD ||                                                                      \
                               (mode[i] == WANTED && (stamp > time[i] || (stamp == time[i] && j > i)))) ->             \
            deferred[i] = deferred[i] | (1 << j)                                                                       \
        :: kind == REQUEST && !(mode[i] == HELD ||                                                                     \
                                (mode[i] == WANTED && (stamp > time[i] || (stamp == time[i] && j > i)))) ->            \
            clock[i] = clock[i] + 1;                                                                                   \
            link[i * N + j]!OK, 0, clock[i]                                                                            \
        :: kind == OK ->                                                                                               \
            missing[i] = missing[i] - 1;                                                                               \
            if                                                                                                         \
            :: missing[i] == 0 -> enter(i)                                                                             \
            :: else                                                                                                    \
            fi                                                                                                         \
        fi;                                                                                                            \
        kind = 0;                                                                                                      \
        stamp = 0;                                                                                                     \
        theirs = 0                                                                                                     \
    }

#define i _pid

active [N] proctype node()
{
    byte k;
    bit kind;
    byte stamp;
    byte theirs;
end:
    do
    :: d_step {
           i < ASKERS && left[i] > 0 && mode[i] == RELEASED -> left[i] = left[i] - 1;
           clock[i] = clock[i] + 1;
           time[i] = clock[i];
           mode[i] = WANTED;
           missing[i] = N - 1;
           clock[i] = clock[i] + 1;
           for (k : 0 .. N - 1) {
               if
               :: k != i -> link[i * N + k]!REQUEST, time[i], clock[i]
               :: else
               fi
           }
           k = 0
       }
    :: d_step {
           mode[i] == HELD -> clock[i] = clock[i] + 1;
           mode[i] = RELEASED;
           time[i] = 0;
           for (k : 0 .. N - 1) {
               if
               :: deferred[i] & (1 << k) ->
                   clock[i] = clock[i] + 1;
                   link[i * N + k]!OK, 0, clock[i]
               :: else
               fi
           }
           deferred[i] = 0;
           k = 0
       }
    :: hear(i, 0)
    :: hear(i, 1)
    :: hear(i, 2)
#if N == 4
    :: hear(i, 3)
#endif
    od
}
