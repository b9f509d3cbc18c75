/* model/known_loss.h - a position of a subscription whose owner knows that something was taken: what retention took up to
 * a seq, the floor (model/cursor.h). It begins with the oldest that is kept.
 *
 * It takes the place of a seq in a request (storage/store.h: struct sub_request, struct sub_change), as a negative number.
 */
#pragma once

#include <stdint.h>

static inline int64_t known_loss_position(int64_t floor)
{
    return -floor;
}

/* After which seq does it begin? */
static inline int64_t known_loss_seq(int64_t position)
{
    return position < 0 ? 0 : position;
}

/* 0: nothing is known to be lost. */
static inline int64_t known_loss_floor(int64_t position)
{
    return position < 0 ? -position : 0;
}
