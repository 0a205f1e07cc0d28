// go-redis, over RESP2 and RESP3.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	address = flag.String("redis", "127.0.0.1:6379", "HOST:PORT")
	ctx     = context.Background()
	failed  = 0
	passed  = 0
)

// equal panics unless both are the same; errors on the way do so in must.
func equal(got, wanted any) {
	if !reflect.DeepEqual(got, wanted) {
		panic(fmt.Sprintf("%#v is not %#v", got, wanted))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func test(name string, c *redis.Client, run func()) {
	defer func() {
		if problem := recover(); problem != nil {
			failed++
			fmt.Printf("FAILED %s: %v\n", name, problem)
		} else {
			passed++
		}
	}()
	must(c.FlushAll(ctx).Result())
	run()
}

func until(condition func() bool) {
	for end := time.Now().Add(15 * time.Second); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			panic("it does not come true")
		}
	}
}

func suite(protocol int) {
	c := redis.NewClient(&redis.Options{Addr: *address, Protocol: protocol, ClientName: "suite", PoolSize: 30})
	defer c.Close()
	at := func(name string) string { return fmt.Sprintf("RESP%d: %s", protocol, name) }

	test(at("connection"), c, func() {
		equal(must(c.Ping(ctx).Result()), "PONG")
		equal(must(c.ClientGetName(ctx).Result()), "suite")
		equal(strings.Contains(must(c.Info(ctx, "server").Result()), "redis_version"), true)
		wrong := redis.NewClient(&redis.Options{Addr: *address, Protocol: protocol, Username: "nobody", Password: "wrong"})
		defer wrong.Close()
		err := wrong.Ping(ctx).Err()
		equal(err != nil && strings.Contains(err.Error(), "WRONGPASS"), true)
	})
	test(at("strings"), c, func() {
		equal(must(c.Set(ctx, "s", "v", 100*time.Second).Result()), "OK")
		equal(must(c.SetNX(ctx, "s", "w", 0).Result()), false)
		equal(must(c.Get(ctx, "s").Result()), "v")
		equal(c.Get(ctx, "missing").Err(), redis.Nil)
		equal(must(c.TTL(ctx, "s").Result()) > 90*time.Second, true)
		equal(must(c.IncrBy(ctx, "n", 41).Result()), int64(41))
		equal(must(c.IncrByFloat(ctx, "n", 0.5).Result()), 41.5)
		equal(must(c.MSet(ctx, "a", 1, "b", "two").Result()), "OK")
		equal(must(c.MGet(ctx, "a", "none", "b").Result()), []any{"1", nil, "two"})
		equal(must(c.SetArgs(ctx, "s", "new", redis.SetArgs{Get: true, KeepTTL: true}).Result()), "v")
		every := make([]byte, 100_000)
		for i := range every {
			every[i] = byte(i)
		}
		must(c.Set(ctx, string(every[:256]), every, 0).Result())
		equal(bytes.Equal(must(c.Get(ctx, string(every[:256])).Bytes()), every), true)
	})
	test(at("hashes, lists, sets, sorted sets"), c, func() {
		equal(must(c.HSet(ctx, "h", map[string]any{"a": 1, "b": "two"}).Result()), int64(2))
		equal(must(c.HGetAll(ctx, "h").Result()), map[string]string{"a": "1", "b": "two"})
		var scanned struct {
			A int    `redis:"a"`
			B string `redis:"b"`
		}
		equal(c.HGetAll(ctx, "h").Scan(&scanned), nil)
		equal(scanned.A, 1)
		equal(must(c.RPush(ctx, "l", "a", "b", "c").Result()), int64(3))
		equal(must(c.LRange(ctx, "l", 0, -1).Result()), []string{"a", "b", "c"})
		equal(must(c.LMove(ctx, "l", "m", "LEFT", "RIGHT").Result()), "a")
		key, values := must2(c.LMPop(ctx, "RIGHT", 5, "none", "l").Result())
		equal([]any{key, values}, []any{"l", []string{"c", "b"}})
		must(c.SAdd(ctx, "u", "a", "b").Result())
		must(c.SAdd(ctx, "w", "b", "c").Result())
		equal(must(c.SInter(ctx, "u", "w").Result()), []string{"b"})
		equal(must(c.SMembersMap(ctx, "u").Result()), map[string]struct{}{"a": {}, "b": {}})
		must(c.ZAdd(ctx, "z", redis.Z{Score: 1, Member: "a"}, redis.Z{Score: 2.5, Member: "b"}).Result())
		equal(must(c.ZRangeWithScores(ctx, "z", 0, -1).Result()), []redis.Z{{Score: 1, Member: "a"}, {Score: 2.5, Member: "b"}})
		equal(must(c.ZRangeArgs(ctx, redis.ZRangeArgs{Key: "z", Start: "-inf", Stop: "(2", ByScore: true}).Result()), []string{"a"})
		equal(must(c.ZIncrBy(ctx, "z", 3, "a").Result()), 4.0)
		equal(must(c.ZPopMax(ctx, "z").Result()), []redis.Z{{Score: 4, Member: "a"}})
		equal(strings.HasPrefix(c.Incr(ctx, "m").Err().Error(), "WRONGTYPE"), true)
	})
	test(at("bits, places, estimates"), c, func() {
		equal(must(c.SetBit(ctx, "b", 7, 1).Result()), int64(0))
		equal(must(c.BitField(ctx, "b", "INCRBY", "u8", 0, 5, "GET", "u4", 4).Result()), []int64{6, 6})
		must(c.GeoAdd(ctx, "g", &redis.GeoLocation{Name: "Palermo", Longitude: 13.361389, Latitude: 38.115556}, &redis.GeoLocation{Name: "Catania", Longitude: 15.087269, Latitude: 37.502669}).Result())
		equal(int(must(c.GeoDist(ctx, "g", "Palermo", "Catania", "km").Result())), 166)
		equal(must(c.GeoSearch(ctx, "g", &redis.GeoSearchQuery{Longitude: 15, Latitude: 37, Radius: 200, RadiusUnit: "km", Sort: "ASC"}).Result()), []string{"Catania", "Palermo"})
		must(c.PFAdd(ctx, "p", "a", "b", "c").Result())
		equal(must(c.PFCount(ctx, "p").Result()), int64(3))
	})
	test(at("pipelines"), c, func() {
		results := must(c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for range 5000 {
				p.Incr(ctx, "n")
			}
			return nil
		}))
		for i, result := range results {
			equal(result.(*redis.IntCmd).Val(), int64(i+1))
		}
	})
	test(at("transactions with optimistic locking"), c, func() {
		var group sync.WaitGroup
		for range 5 {
			group.Add(1)
			go func() {
				defer group.Done()
				for done := 0; done < 40; {
					err := c.Watch(ctx, func(tx *redis.Tx) error {
						n, err := tx.Get(ctx, "n").Int()
						if err != nil && err != redis.Nil {
							return err
						}
						_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
							p.Set(ctx, "n", n+1, 0)
							return nil
						})
						return err
					}, "n")
					if err == nil {
						done++
					} else if !errors.Is(err, redis.TxFailedErr) {
						fmt.Println("FAILED transaction:", err)
						return
					}
				}
			}()
		}
		group.Wait()
		equal(must(c.Get(ctx, "n").Result()), "200")
	})
	test(at("publish and subscribe"), c, func() {
		subscriber := c.Subscribe(ctx, "c")
		defer subscriber.Close()
		must(subscriber.Receive(ctx))
		equal(subscriber.PSubscribe(ctx, "n.*"), nil)
		messages := subscriber.Channel()
		until(func() bool { return must(c.PubSubNumPat(ctx).Result()) == 1 })
		equal(must(c.Publish(ctx, "c", "one").Result()), int64(1))
		equal(must(c.Publish(ctx, "n.x", "two").Result()), int64(1))
		one, two := <-messages, <-messages
		equal([]string{one.Channel, one.Payload, two.Pattern, two.Channel, two.Payload}, []string{"c", "one", "n.*", "n.x", "two"})
		equal(must(c.PubSubNumSub(ctx, "c").Result()), map[string]int64{"c": 1})
	})
	test(at("blocking pops"), c, func() {
		popped := make(chan []string)
		go func() { popped <- c.BLPop(ctx, 10*time.Second, "a", "b").Val() }()
		until(func() bool { return strings.Contains(must(c.ClientList(ctx).Result()), "cmd=blpop") })
		must(c.RPush(ctx, "b", "x").Result())
		equal(<-popped, []string{"b", "x"})
		equal(c.BLPop(ctx, time.Second, "none").Err(), redis.Nil)
	})
	test(at("scripts and functions"), c, func() {
		script := redis.NewScript("redis.call('SET', KEYS[1], ARGV[1]); return {redis.call('GET', KEYS[1]), 42, false}")
		equal(must(script.Run(ctx, c, []string{"k"}, "v").Result()), []any{"v", int64(42), nil})
		must(c.ScriptFlush(ctx).Result())
		equal(strings.HasPrefix(c.EvalSha(ctx, script.Hash(), []string{"k"}, "v").Err().Error(), "NOSCRIPT"), true)
		equal(must(script.Run(ctx, c, []string{"k"}, "w").Result()), []any{"w", int64(42), nil})
		must(c.FunctionLoadReplace(ctx, "#!lua name=golib\nredis.register_function('twice', function(keys, args) return args[1] * 2 end)").Result())
		equal(must(c.FCall(ctx, "twice", nil, 21).Result()), int64(42))
		equal(must(c.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: "golib"}).Result())[0].Functions[0].Name, "twice")
		must(c.FunctionDelete(ctx, "golib").Result())
	})
	test(at("streams and groups"), c, func() {
		must(c.XGroupCreateMkStream(ctx, "x", "g", "$").Result())
		id := must(c.XAdd(ctx, &redis.XAddArgs{Stream: "x", Values: map[string]any{"f": "v"}}).Result())
		read := must(c.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: "alice", Streams: []string{"x", ">"}, Count: 10, Block: time.Second}).Result())
		equal(read[0].Messages[0].ID, id)
		equal(must(c.XPending(ctx, "x", "g").Result()).Consumers, map[string]int64{"alice": 1})
		equal(must(c.XClaim(ctx, &redis.XClaimArgs{Stream: "x", Group: "g", Consumer: "bob", Messages: []string{id}}).Result())[0].ID, id)
		equal(must(c.XAck(ctx, "x", "g", id).Result()), int64(1))
		equal(must(c.XInfoStream(ctx, "x").Result()).Length, int64(1))
		equal(must(c.XInfoGroups(ctx, "x").Result())[0].Name, "g")
		equal(must(c.XInfoStreamFull(ctx, "x", 0).Result()).Groups[0].Consumers[0].Name, "alice")
	})
	test(at("iterators"), c, func() {
		p := c.Pipeline()
		for i := range 1000 {
			p.Set(ctx, "k"+strconv.Itoa(i), i, 0)
			p.SAdd(ctx, "u", i)
		}
		must(p.Exec(ctx))
		found := map[string]bool{}
		keys := c.Scan(ctx, 0, "k*", 50).Iterator()
		for keys.Next(ctx) {
			found[keys.Val()] = true
		}
		members := c.SScan(ctx, "u", 0, "", 0).Iterator()
		for members.Next(ctx) {
			found["member "+members.Val()] = true
		}
		equal([]any{len(found), keys.Err(), members.Err()}, []any{2000, nil, nil})
	})
	test(at("what the server says of commands"), c, func() {
		commands := must(c.Command(ctx).Result())
		get, set := commands["get"], commands["set"]
		equal([]any{get.Arity, get.ReadOnly, get.FirstKeyPos, set.Arity, set.ReadOnly}, []any{int8(2), true, int8(1), int8(-3), false})
	})
}

func must2[A, B any](one A, two B, err error) (A, B) {
	if err != nil {
		panic(err)
	}
	return one, two
}

func main() {
	flag.Parse()
	suite(2)
	suite(3)
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
