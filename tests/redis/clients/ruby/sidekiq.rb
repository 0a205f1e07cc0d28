# Sidekiq: jobs, retries, a schedule, what its web page shows; by a worker in a process of its own.

require "sidekiq"
require "sidekiq/api"

Redis.silence_deprecations = true
address = ARGV[ARGV.index("--redis").to_i + 1] if ARGV.include?("--redis")
url = ENV["SIDEKIQ_REDIS"] || "redis://#{address || "127.0.0.1:6379"}/0"
Sidekiq.configure_server do |config|
  config.redis = { url: url }
  config.average_scheduled_poll_interval = 1
end
Sidekiq.configure_client { |config| config.redis = { url: url } }

class Add
  include Sidekiq::Worker
  def perform(a, b)
    Sidekiq.redis { |c| c.incrby("total", a + b) }
  end
end

class ThirdTime
  include Sidekiq::Worker
  sidekiq_options retry: 5
  sidekiq_retry_in { 1 }
  def perform(key)
    tries = Sidekiq.redis { |c| c.incr(key) }
    raise "not yet" if tries < 3
  end
end

class Fails
  include Sidekiq::Worker
  sidekiq_options retry: 0
  def perform
    raise "on purpose"
  end
end

return unless $PROGRAM_NAME == __FILE__

$failed = 0
$passed = 0

def check(name, seconds = 60)
  limit = Time.now + seconds
  sleep 0.05 until (fine = yield) || Time.now > limit
  if fine
    $passed += 1
  else
    $failed += 1
    puts "FAILED #{name}"
  end
end

def get(key)
  Sidekiq.redis { |c| c.get(key) }
end

Sidekiq.redis(&:flushall)
worker = spawn({ "SIDEKIQ_REDIS" => url }, "sidekiq", "-r", File.expand_path(__FILE__), "-c", "4", "-q", "default", out: File::NULL, err: File::NULL)
begin
  100.times { |n| Add.perform_async(n, 1) }
  check("a hundred jobs") { get("total") == (0...100).sum { |n| n + 1 }.to_s }
  Sidekiq::Client.push_bulk("class" => Add, "args" => Array.new(500) { [1, 1] })
  check("a bulk") { get("total") == (5050 + 1000).to_s }
  ThirdTime.perform_async("tries")
  check("retries") { get("tries") == "3" && Sidekiq::RetrySet.new.size.zero? }
  Fails.perform_async
  check("what fails is counted") { Sidekiq::Stats.new.failed >= 3 }
  Add.perform_in(1, 10, 0)
  check("what is due later stands in the schedule") { Sidekiq::ScheduledSet.new.size == 1 }
  check("and comes in time") { get("total") == "6060" && Sidekiq::ScheduledSet.new.size.zero? }
  check("statistics") { Sidekiq::Stats.new.processed >= 605 && Sidekiq::Queue.new.size.zero? }
  check("processes") { Sidekiq::ProcessSet.new.size == 1 }
ensure
  Process.kill("TERM", worker)
  Process.wait(worker)
end
check("the process is gone from the set") { Sidekiq::ProcessSet.new.size.zero? }
puts "#{$passed} passed, #{$failed} failed"
exit($failed.zero? ? 0 : 1)
