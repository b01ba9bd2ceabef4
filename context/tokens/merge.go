package tokens

// A piece up to shortPiece bytes is merged by looking for the lowest rank each
// time, a longer one with a heap.
const shortPiece = 48

// merger merges the bytes of a piece into tokens, the lowest rank first and
// the leftmost of equals. Its memory is used again from piece to piece.
type merger struct {
	ids   []uint32
	ranks []uint32 // of an id with its right neighbour
	nodes []node
	heap  []uint64 // rank, position; pairs that are gone stay until they come up
}

// node is a part of a long piece, at the position of its first byte.
type node struct {
	left, right int32
	id          uint32
	rank        uint32 // of the token it merges into with its right neighbour
}

// merge returns the tokens of a piece, valid until the next call.
func merge[T string | []byte](m *merger, vocab *vocabulary, piece T) []uint32 {
	m.ids, m.ranks = m.ids[:0], m.ranks[:0]
	last := len(piece) - 1
	for i := 0; i < last; i++ {
		m.ids = append(m.ids, vocab.single[piece[i]])
		m.ranks = append(m.ranks, vocab.double[int(piece[i])<<8|int(piece[i+1])])
	}
	m.ids, m.ranks = append(m.ids, vocab.single[piece[last]]), append(m.ranks, none)
	if len(piece) <= shortPiece {
		return m.short(vocab)
	}
	return m.long(vocab)
}

// short takes time quadratic in the piece, and little of it.
func (m *merger) short(vocab *vocabulary) []uint32 {
	ids, ranks := m.ids, m.ranks
	for {
		at, lowest := 0, none
		for i, r := range ranks {
			if r < lowest {
				at, lowest = i, r
			}
		}
		if lowest == none {
			return ids
		}
		ids[at] = lowest
		ids = append(ids[:at+1], ids[at+2:]...)
		ranks = append(ranks[:at], ranks[at+1:]...)
		ranks[at] = none
		if at+1 < len(ids) {
			ranks[at] = vocab.pair(lowest, ids[at+1])
		}
		if at > 0 {
			ranks[at-1] = vocab.pair(ids[at-1], lowest)
		}
	}
}

// long takes n log n: each merge takes one part away and makes two pairs.
func (m *merger) long(vocab *vocabulary) []uint32 {
	m.nodes, m.heap = m.nodes[:0], m.heap[:0]
	for i, id := range m.ids {
		m.nodes = append(m.nodes, node{left: int32(i - 1), right: int32(i + 1), id: id, rank: m.ranks[i]})
		if m.ranks[i] != none {
			m.heap = append(m.heap, uint64(m.ranks[i])<<32|uint64(i))
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	end := int32(len(m.nodes))
	for len(m.heap) > 0 {
		at, rank := int32(uint32(m.heap[0])), uint32(m.heap[0]>>32)
		n := len(m.heap) - 1
		m.heap[0] = m.heap[n]
		m.heap = m.heap[:n]
		m.sink(0)
		part := &m.nodes[at]
		if part.rank != rank {
			continue
		}
		m.nodes[part.right].rank = none
		part.id, part.rank, part.right = rank, none, m.nodes[part.right].right
		if part.right < end {
			m.nodes[part.right].left = at
			m.meet(vocab, at, part, &m.nodes[part.right])
		}
		if part.left >= 0 {
			m.meet(vocab, part.left, &m.nodes[part.left], part)
		}
	}
	m.ids = m.ids[:0]
	for at := int32(0); at < end; at = m.nodes[at].right {
		m.ids = append(m.ids, m.nodes[at].id)
	}
	return m.ids
}

// meet ranks the pair of left, which is at a position, and right.
func (m *merger) meet(v *vocabulary, at int32, left, right *node) {
	if left.rank = v.pair(left.id, right.id); left.rank == none {
		return
	}
	i, key := len(m.heap), uint64(left.rank)<<32|uint64(at)
	m.heap = append(m.heap, key)
	for i > 0 && m.heap[(i-1)/2] > key {
		m.heap[i] = m.heap[(i-1)/2]
		i = (i - 1) / 2
	}
	m.heap[i] = key
}

func (m *merger) sink(i int) {
	h := m.heap
	if i >= len(h) {
		return
	}
	key := h[i]
	for child := 2*i + 1; child < len(h); child = 2*i + 1 {
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if h[child] >= key {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = key
}
