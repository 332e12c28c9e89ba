// SPDX-License-Identifier: MIT
/*
 * How many may be connected. There are `clients` places for everybody, and a few more that are kept for whoever wants
 * to know what is going on: a session there may ask and administer, but holds nothing, waits for nothing and has to be
 * quick. So an operator gets in when all places are taken, above all by a Unix socket, and everybody else is told why
 * it does not.
 */
#include "live/net/stream.h"
#include "live/process/event_log.h"
#include "service/service.h"

#define KEPT_PLACES 16u
#define KEPT_FOR_LOCALS 8u /* of these */
#define STAY_US 10000000u

enum cv_place cv_places_find(const struct cv_service *service, bool local)
{
    if (service->session_count - service->kept_count < service->most_sessions)
        return CV_PLACE_FREE;
    return service->kept_count < (local ? KEPT_PLACES : KEPT_PLACES - KEPT_FOR_LOCALS) ? CV_PLACE_KEPT : CV_PLACE_NONE;
}

static void note(struct cv_service *service, struct cv_session *session)
{
    struct cv_visitor visitor = {0};
    char name[CV_VISITOR_NAME_BYTES];
    service->rejected++;
    cv_door_look(&visitor, &session->stream);
    cv_log(CV_LOG_CLIENT_REFUSED, {"from", .text = cv_visitor_name(&visitor, name)},
           {"why", .text = "all places are taken"}, {"clients", .number = service->most_sessions});
}

/* Whoever expects TLS would not understand it. */
void cv_places_refuse(struct cv_service *service, struct cv_session *session)
{
    static const char line[] = "-" CV_TOO_MANY_CLIENTS "\r\n";
    if (!session->stream.tls)
        cv_stream_write(&session->stream, line, sizeof line - 1);
    note(service, session);
    cv_stream_close(&session->stream);
}

static void stayed_too_long(struct cv_alarm *alarm)
{
    struct cv_session *session = cv_alarm_owner(alarm, struct cv_session, stay);
    cv_resp_error(&session->out, CV_TOO_MANY_CLIENTS);
    session->leaving = true;
    cv_stream_mark(&session->stream);
}

void cv_places_keep(struct cv_session *session)
{
    session->kept = true;
    session->service->kept_count++;
    session->stay.ring = stayed_too_long;
    cv_loop_set(session->service->loop, &session->stay, STAY_US);
}

void cv_places_leave(struct cv_session *session)
{
    session->service->kept_count -= session->kept;
    session->kept = false;
    cv_alarm_cancel(session->service->alarms, &session->stay);
}

bool cv_places_allow(struct cv_session *session, bool harmless)
{
    struct cv_service *service = session->service;
    if (!session->kept || harmless)
        return true;
    if (cv_places_find(service, true) == CV_PLACE_FREE) { /* somebody has left meanwhile */
        cv_places_leave(session);
        return true;
    }
    note(service, session);
    cv_resp_error(&session->out, CV_TOO_MANY_CLIENTS);
    session->leaving = true;
    return false;
}
