package request

import (
	"context"

	"belay/session"
	"belay/session/store"
)

// tailBytes bounds what is read of a log for the next request: more would not fit into
// any window.
const tailBytes = 4 << 20

// Tail is the end of a session's log that its next request is made of.
func Tail(ctx context.Context, st *store.Store, state session.Session) (store.Tail, error) {
	return st.Tail(ctx, state, tailBytes)
}

// ReadConversation makes the conversation of the end of a session's log. Each of its
// records goes to the others as well, if there are any.
func ReadConversation(
	ctx context.Context, st *store.Store, state session.Session, others ...func(session.Record),
) (session.Conversation, error) {
	tail, err := Tail(ctx, st, state)
	if err != nil {
		return session.Conversation{}, err
	}
	c := newConversation(tail, state)
	err = tail.Each(ctx, func(r session.Record) {
		c.Apply(r)
		for _, do := range others {
			do(r)
		}
	})
	return c, err
}

// newConversation is the conversation before the records of the tail.
func newConversation(tail store.Tail, state session.Session) session.Conversation {
	c := session.NewConversation(state)
	if !tail.Whole {
		c.OmitBeginning()
	}
	c.Grow(tail.Len())
	return c
}
