// SPDX-License-Identifier: MIT
#include "service/places.h"

#include "live/net/stream.h"
#include "live/process/event_log.h"

#define RESERVED_PLACES 16u
#define RESERVED_FOR_LOCALS 8u /* of those, by a Unix socket */
#define STAY_US 10000000u

enum place places_find(const struct cv_service *service, bool local)
{
    if (service->session_count - service->reserved_count < service->most_sessions)
        return PLACE_FREE;
    return service->reserved_count < (local ? RESERVED_PLACES : RESERVED_PLACES - RESERVED_FOR_LOCALS) ? PLACE_RESERVED
                                                                                                       : PLACE_NONE;
}

static void note(struct cv_service *service, struct session *session)
{
    struct cv_visitor visitor = {0};
    char name[CV_VISITOR_NAME_BYTES];
    service->rejected++;
    cv_door_look(&visitor, &session->stream);
    cv_log(CV_LOG_CLIENT_REFUSED, {"from", .text = cv_visitor_name(&visitor, name)},
           {"why", .text = "all places are taken"}, {"clients", .number = service->most_sessions});
}

/* A client that expects TLS would not understand the line. */
void places_refuse(struct cv_service *service, struct session *session)
{
    static const char line[] = "-" TOO_MANY_CLIENTS "\r\n";
    if (!session->stream.tls)
        cv_stream_write(&session->stream, line, sizeof line - 1);
    note(service, session);
    cv_stream_close(&session->stream);
}

static void stayed_too_long(struct cv_alarm *alarm)
{
    struct session *session = cv_alarm_owner(alarm, struct session, stay);
    cv_resp_error(&session->out, TOO_MANY_CLIENTS);
    session->leaving = true;
    cv_stream_mark(&session->stream);
}

void places_reserve(struct session *session)
{
    session->reserved = true;
    session->service->reserved_count++;
    session->stay.ring = stayed_too_long;
    cv_loop_set(session->service->loop, &session->stay, STAY_US);
}

void places_leave(struct session *session)
{
    session->service->reserved_count -= session->reserved;
    session->reserved = false;
    cv_alarm_cancel(session->service->alarms, &session->stay);
}

bool places_allow(struct session *session, bool harmless)
{
    struct cv_service *service = session->service;
    if (!session->reserved || harmless)
        return true;
    if (places_find(service, true) == PLACE_FREE) { /* a place has become free meanwhile */
        places_leave(session);
        return true;
    }
    note(service, session);
    cv_resp_error(&session->out, TOO_MANY_CLIENTS);
    session->leaving = true;
    return false;
}
