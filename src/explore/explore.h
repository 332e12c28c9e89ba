// SPDX-License-Identifier: MIT
/*
 * The explorer: a run that is taken step by step, by whoever looks at it. It lists what can happen now, does one of
 * these things, and goes back. It does no I/O and has no threads, so that the same code runs natively and as
 * WebAssembly; the same words and the same indices give the same bytes on both.
 *
 * There is one way in: a call by name, with a JSON object of arguments (or "" for none), that gives one JSON text. The
 * text belongs to the explorer and is valid until its next call. A call that cannot be answered gives
 * {"error":"one line"}, and changes nothing.
 *
 *     begin {"words":["bully","-n","3"],"files":{"NAME":"content"}}   reads the words as `conclave sim` does
 *         {"ok":true}
 *     catalogue                        the algorithms, as `conclave list` knows them
 *         {"algorithms":[{"name","title","citation","problem","topology","assumes":[],"claims":[],"kinds":[],
 *          "parameters":[{"name","meaning","values":[],"default"}],
 *          "cost":[{"label","measure","relation","formula","source","where"}]}]}
 *     scenario                         what does not change during a story
 *         {"schema":1,"words":[],"algorithm","title","citation","problem","app","topology":"complete|ring|ring-both|
 *          graph","nodes":[{"node","id","label","attr","x","y"}],"edges":[[a,b,weight]],"quorums":[[node]],
 *          "clusters":[{"head","members":[]}],"parents":[node],"preferred":[[a,b]],
 *          "kinds":[{"name","fields":[{"name","kind"}]}],
 *          "state":[{"name","kind"}],"timers":["name"],"properties":[{"name","kind","claimed"}]}
 *     now                              the present state
 *         {"step","time","ended","nodes":[{"node","alive","leader":id|null,"calling","inside",
 *          "fence":number|null,"waiting","clock","timers":[{"timer","name","due"}],"suspects":[node],
 *          "state":[{"name","value","changed"}],"parent":node|null,"round","result","via"}],
 *          "messages":[{"serial","from","to","kind","text","fields":[{"name","value"}],"deliverable","event","due"}],
 *          "counts":{"total","by_kind":{}},"theory":{"messages":{"formula","value","relation","holds"}|null,
 *          "delay":…},"cuts":[[a,b]],"properties":[{"name","kind","verdict":"held|violated|open|disclaimed","detail"}]}
 *     events {"node":i,"message":k}    what can happen now; with a node or a message: only what concerns it
 *         [{"index","type","node","peer","message","timer","text","likely","next","early"}]
 *         types: start request leave deliver timeout tell trust view, which are likely unless a timeout is early; and
 *         the faults drop duplicate crash miss recover cut heal suspect. `next` is true for the one that the simulator
 *         would do. In groups of more than 16 nodes, cut and suspect are listed only with a node, drop and duplicate
 *         with a node or a message.
 *     do {"index","choices":[],"sent":k,"missed":true}
 *         {"ok":true,"step","type","node","text","handler","effects":["…"],"choices":[{"ways","chosen"}],
 *          "violated":["name"]}
 *         choices: what cv_choose() returns, in this order; without them, the simulator's. sent: the node crashes after
 *         it has sent so many messages of the step.
 *     take {"indices":[]}              many steps, without a word about each: {"ok":true,"step","trouble"}
 *         At the first index that is not one of an event it ends, and says so.
 *     back {"count"}, go {"step"}      {"ok":true,"step"}
 *     history {"from","to"}            the steps from+1 .. to
 *         [{"step","time","index","type","node","peer","text","handler","received":serial|null,
 *           "sent":[{"serial","from","to","kind","text"}],"lost":[serial],"clock","called","elected","entered","left",
 *           "crashed","note","violated":[]}]
 *     run {"count"}                    does what the simulator would do, until nothing is left of it
 *         {"ok":true,"step","done"}
 *     story {"as":"transcript|diagram","width"}   {"text"}
 *     export                           {"file":"…"}: `conclave sim --replay FILE` plays it
 *     load {"file":"…"}                begins what the file says and takes its steps: a replay file, or a trace of the
 *         {"ok":true,"step","words":[],"files":{},"trouble"}      simulator. trouble: why it ends before the trace
 *     load {"recordings":["…"],"name":k}   the story of one name that live nodes recorded, a text for each node;
 *         without k, of the lock of which most is told. It has the steps that were taken, and no others: events lists
 *         the next.
 *         {"ok":true,"step","names":[{"subject","name","algorithm","lines"}],"chosen","missing":[id],…}
 *     search {"goal":{"kind":"violation"}|{"kind":"property","name"}|{"kind":"state","leaders":2,"inside":2},
 *             "limits":{"crashes","suspicions","cuts","recoveries","drops","timeouts":"any|accurate","states","depth"}}
 *         {"ok":true}
 *     search_more {"states":n}         expands so many states, breadth first from the present one
 *         {"done":false,"states","depth"} | {"done":true,"found":true,"indices":[…],"states"} |
 *         {"done":true,"found":false,"complete":true|false,"states"}
 *
 * A start, a request or a leave may be done at any time that the algorithm allows. Messages on one link keep their
 * order unless --unordered is given. Drops and duplicates are faults below the reliable channel: they are offered, and
 * never likely.
 */
#ifndef CONCLAVE_EXPLORE_EXPLORE_H
#define CONCLAVE_EXPLORE_EXPLORE_H

#include <conclave/algorithm.h>

#include "core/error.h"

struct cv_explorer;

/* Finds an algorithm that is not built in. 0, or an error with a complaint. */
typedef int cv_explorer_find(const char *name, const struct cv_algorithm **algorithm, struct cv_complaint *complaint);

/* NULL if there is no memory. `find` may be NULL: only the built-in algorithms are known. */
struct cv_explorer *cv_explorer_new(cv_explorer_find *find);
void cv_explorer_free(struct cv_explorer *explorer);

/* Answers a call, as above. Never NULL. */
const char *cv_explorer_call(struct cv_explorer *explorer, const char *name, const char *arguments);

#endif
