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
 *         {"ok":true,"step"}
 *     catalogue                        the algorithms, as `conclave list` knows them
 *         {"algorithms":[{"name","title","citation","problem","topology","assumes":[],"claims":[],"kinds":[],
 *          "parameters":[{"name","meaning","kind","values":[],"default"}],
 *          "cost":[{"label","measure","relation","formula","symbols","source","where"}]}]}
 *     scenario                         what does not change during a story
 *         {"schema","words":[],"algorithm","title","citation","problem","app","topology","bound","rounds",
 *          "assumes":[],"nodes":[{"node","id","label","attr","x","y"}],"edges":[[a,b,weight]],"quorums":[[node]],
 *          "clusters":[{"head","members":[]}],"parents":[],"preferred":[[a,b]],
 *          "kinds":[{"name","fields":[{"name","kind"}]}],
 *          "state":[{"name","kind"}],"timers":[],"properties":[{"name","kind","claimed"}],"recorded":true}
 *         recorded: the story was recorded by live nodes, and only what they did can be looked at
 *     now                              the present state; times are the simulator's
 *         {"step","time","ended","verdict","reason","nodes":[{"node","alive","leader":id|null,"calling","inside",
 *          "fence":number|null,"waiting","clock","timers":[{"timer","name","due"}],"suspects":[node],
 *          "state":[{"name","value","changed"}],"parent":node|null,"round","result","via"}],
 *          "messages":[{"serial","from","to","kind","text","fields":[{"name","value"}],"deliverable","event",
 *          "due"}],"messages_untold",
 *          "counts":{"total","by_kind":{},"preparing"},
 *          "theory":{"messages":{"case","formula","value","relation","counted","holds","source","where"}|null,
 *          "delay":…},"cuts":[[a,b]],"properties":[{"name","kind","verdict":"held|violated|open|disclaimed","detail"}]}
 *     events {"node":i,"message":k}    what can happen now; with a node or a message: only what concerns it
 *         [{"index","type","node","peer","message","timer","text","likely","next","early","planned"}]
 *         types: start request leave deliver timeout tell trust view, which are likely unless a timeout is early; and
 *         the faults drop duplicate crash miss recover cut heal suspect. `next` is true for the one that the simulator
 *         would do. A start without a node is that of all members of a view, after the requests that are due at once.
 *         In groups of more than 16 nodes, cut and suspect are listed only with a node, drop and duplicate
 *         with a node or a message.
 *     look {"from":k,"node":i,"message":k}   what a page draws after a step, in one answer
 *         {"now","events","untold":{},"own":[],"history":[]}
 *         As those calls answer: `own` is what concerns the node and the message, the history begins there, or there is
 *         none. Groups of more than 16 nodes are told in part: at most 400 messages, with messages_untold in `now`, and
 *         100 events of a type; `untold` counts the others, by likely or by their type.
 *     variants {"index"}               the ways that an event can go: see explored_way.h
 *         {"index","text","sends","choices":[{"ways","chosen"}],
 *          "variants":[{"index","text","choices":[],"sent":number|null,"missed"}]}
 *         sends: so many messages its handler sends; choices: as the simulator chooses. Then each way that it can go
 *         otherwise, at most 100, with an index that do takes: what its handler may choose, and where in the middle of
 *         its sends the node may crash, with nobody told of it or not.
 *         An index may be a text where no number says it all: see explored_way.h.
 *     do {"index","choices":[],"sent":k,"missed":true}
 *         {"ok":true,"step","index","type","node","peer","message","timer","handler","text","effects":[],
 *          "choices":[{"ways","chosen"}],"violated":[]}
 *         The index says all. What it does not say, the other arguments may: choices are what cv_choose() returns, in
 *         this order, without them the simulator's; and the node crashes after it has sent k messages of the step. The
 *         answer has the index that says it.
 *     take {"indices":[]}              many steps, without a word about each
 *         {"ok":true,"step","trouble"}
 *         At the first index that is not one of an event it ends, and says so.
 *     back {"count"}                   takes steps back
 *         {"ok":true,"step"}
 *     go {"step"}                      the same, to a step
 *         {"ok":true,"step"}
 *     history {"from","to"}            the steps from+1 .. to
 *         [{"step","time","index","type","node","peer","message","timer","handler","text","received":serial|null,
 *           "sent":[{"serial","from","to","kind","text"}],"lost":[serial],"clock","called","elected","entered","left",
 *           "crashed","note","round","violated":[]}]
 *     run {"count"}                    does what the simulator would do, until nothing is left of it
 *         {"ok":true,"step","done"}
 *     story {"as":"transcript|diagram","width"}
 *         {"text"}
 *     export                           `conclave sim --replay FILE` plays it
 *         {"file"}
 *     load {"file":"…"}                begins what the file says and takes its steps: a replay file, or a trace of the
 *                                      simulator. trouble: why it ends before the trace
 *         {"ok":true,"step","words":[],"files":{},"trouble"}
 *     load {"recordings":["…"],"name":k}   the story of one name that live nodes recorded, a text for each node;
 *         without k, of the lock of which most is told. It has the steps that were taken, and no others: events lists
 *         the next.
 *         {"ok":true,"step","names":[{"subject","name","algorithm","lines"}],"chosen","missing":[id],…}
 *     search {"goal":{"kind":"violation"}|{"kind":"property","name"}|{"kind":"state","leaders":2,"inside":2},
 *             "limits":{"crashes","missed","suspicions","cuts","recoveries","drops","duplicates",
 *                       "timeouts":"any|accurate","states","depth","full":true}}
 *         {"ok":true,"step"}
 *         Other numbers of a state: different (leaders that nodes follow), waiting, know, leader and of (that node
 *         follows that one). full: with full states even where the checker's search would do, for comparison.
 *     search_more {"states":n}         expands so many states, breadth first from the present one
 *         {"done":false,"states","transitions","depth"} | {"done":true,"found":true,"indices":[],…} |
 *         {"done":true,"found":false,"complete",…}
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
