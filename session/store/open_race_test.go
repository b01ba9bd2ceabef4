package store

import (
	"sync"
	"testing"
)

func TestSeveralThatOpenANewDatabaseAtOnceAllCome(t *testing.T) {
	for range 12 {
		dir := t.TempDir()
		var ready, done sync.WaitGroup
		begin := make(chan struct{})
		for range 12 {
			ready.Add(1)
			done.Go(func() {
				ready.Done()
				<-begin
				s, err := Open(t.Context(), dir, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		ready.Wait()
		close(begin)
		done.Wait()
	}
}
