# A fork server for DRC decks inside the KLayout application.
#
#   klayout -b -r server.rb -rd jobs_fd=R -rd done_fd=W -rd children=N
#
# One JSON line a job comes in on R; for each a child is forked, which takes on the job's policy and then runs the
# deck as `klayout -b -r DECK -rd input=IN -rd output=OUT` would. One JSON line a job goes out on W. The end of R ends
# the server and whatever still runs.
require 'json'

JOBS = IO.for_fd($jobs_fd.to_i)
DONE = IO.for_fd($done_fd.to_i)
DONE.sync = true
CHILDREN = $children.to_i
PARENT = Process.ppid

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# strmrun has no views; the DRC engine only asks which one is current.
module RBA
  class CellView; def self.active; nil; end; end unless const_defined?(:CellView)
  class LayoutView; def self.current; nil; end; end unless const_defined?(:LayoutView)
end

# An exception that leaves RBA::Macro#run crashes KLayout 0.28.5. It is caught where the deck's own code ends.
class DRC::DRCExecutable
  alias_method :execute_and_raise, :execute

  def execute
    execute_and_raise
  rescue SystemExit
    raise
  rescue Exception => error
    $deck_error = error
    STDERR.syswrite("ERROR: #{error.class}: #{error.message.to_s[0, 2000]}\n") unless error.is_a?(StandardError)
    line = line_in_deck(error)
    STDERR.syswrite("at line #{line}\n") if line
    nil
  end

  # Where in the deck itself, which the engine leaves out of its message.
  def line_in_deck(error)
    error.backtrace.each { |frame| return Regexp.last_match(1) if frame =~ %r{\A(?:.*/)?#{$deck_name}:(\d+)} }
    nil
  rescue Exception # the deck's own class of exceptions
    nil
  end
end

# The engine collects garbage twice at the end of each run. On the heap of a forked child that takes longer than a
# small deck, copies every page that is shared with the server, and the child ends anyway.
class << GC
  alias_method :start_in_earnest, :start

  def start(**how)
    start_in_earnest(**how) if $child_begun.nil? || now - $child_begun > 2.0
  end
end

# In deep mode KLayout writes a marker once a cell, beside one of the cell's places; variants that it made of a cell for
# some of its places are cells of their own. Who compares places asks for the markers of all of them, in the top cell.
module FlatMarkers
  def scan_collection(cell, trans, markers, flat = false, *rest)
    super(cell, trans, markers, true, *rest)
  end
end

# Setting a policy: system calls with bytes that were worked out by whoever sent the job.
module Policy
  PR_SET_PDEATHSIG = 1
  PR_SET_NO_NEW_PRIVS = 38
  SECCOMP_SET_MODE_FILTER = 1
  LANDLOCK_RULE_PATH_BENEATH = 1
  O_PATH = 0x200000
  CAPABILITY_VERSION_3 = 0x20080522

  # Kernel#syscall refuses text with NUL bytes; it takes their address.
  def self.call(*arguments)
    Kernel.syscall(*arguments.map { |one| one.is_a?(String) ? [one].pack('P').unpack1('Q') : one })
  end

  def self.enter(policy, prctl)
    trap('XFSZ', 'SYSTEM_DEFAULT')
    policy['rlimits'].each { |name, value| Process.setrlimit(name.to_sym, value, value) }
    become(policy['user']) if policy['user']
    call(policy['capset'], [CAPABILITY_VERSION_3, 0].pack('LL'), "\0" * 24) if policy['capset']
    die_with_server(prctl)
    call(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) if policy['landlock'] || policy['seccomp']
    landlock(policy['landlock']) if policy['landlock']
    seccomp(policy['seccomp']) if policy['seccomp']
  end

  def self.become(user)
    Process.groups = []
    Process::Sys.setresgid(user, user, user)
    Process::Sys.setresuid(user, user, user)
  end

  # A change of user clears this, so it comes after.
  def self.die_with_server(prctl)
    call(prctl, PR_SET_PDEATHSIG, 9, 0, 0, 0)
    exit!(125) if Process.ppid != SERVER
  end

  def self.landlock(rules)
    attributes = [rules['attributes']].pack('H*')
    ruleset = call(rules['create'], attributes, attributes.bytesize, 0)
    rules['rules'].each do |path, rights|
      File.open(path, File::RDONLY | O_PATH) do |file|
        call(rules['add'], ruleset, LANDLOCK_RULE_PATH_BENEATH, [rights, file.fileno].pack('Ql'), 0)
      end
    rescue Errno::ENOENT
      next # inside bubblewrap there is less than outside
    end
    call(rules['restrict'], ruleset, 0)
    IO.for_fd(ruleset).close
  end

  def self.seccomp(filter)
    code = [filter['code']].pack('H*')
    code[filter['pid_at'], 4] = [Process.pid].pack('L')
    call(filter['call'], SECCOMP_SET_MODE_FILTER, 0, [filter['length'], code].pack('Sx6P'))
  end
end

SERVER = Process.pid
# The same on every architecture that KLayout runs on but these two; the job's policy names it where it has a filter.
PRCTL = RUBY_PLATFORM.start_with?('aarch64') ? 167 : 157
PR_SET_CHILD_SUBREAPER = 36

Child = Struct.new(:job, :pid, :pipe, :said, :begun, :deadline, :ended_for, :closed)
$running = {}

# Their names are checked by who sends them. Bytes, as the texts of a deck and what klayout -rd sets are.
def set_variables(variables, layout, report)
  variables.each do |name, value|
    eval("$#{name} = #{value.gsub('{input}') { layout }.gsub('{output}') { report }.dump}.b")
  end
end

def work(job, pipe)
  $child_begun = now
  Process.setsid
  $running.each_value { |other| other.pipe.close }
  JOBS.close
  DONE.close
  STDIN.reopen('/dev/null')
  STDOUT.reopen(job['log'], 'w')
  STDERR.reopen(STDOUT)
  STDOUT.sync = STDERR.sync = true
  Dir.chdir(job['folder'])
  Policy.enter(job['policy'], PRCTL)
  RBA::RdbCategory.prepend(FlatMarkers) if job['flat_markers']
  pipe.syswrite("{}\n") # begun: from here on, what happens is the deck's
  code = 1
  job['runs'].each do |layout, report|
    set_variables(job['variables'], layout, report)
    $input = layout
    $output = report
    $deck_error = nil
    $deck_name = Regexp.escape(File.basename(job['deck']))
    code = RBA::Macro.new(job['deck']).run
    code = 1 if $deck_error
    pipe.syswrite({ code: code }.to_json + "\n")
  rescue Exception => error
    code = 1
    STDERR.syswrite("ERROR: #{error.class}: #{error.message.to_s[0, 2000]}\n")
    pipe.syswrite({ code: code }.to_json + "\n")
  end
  exit!(code & 255)
end

def start(job)
  reading, writing = IO.pipe
  pid = fork do
    reading.close
    begin
      work(job, writing)
    rescue Exception => error
      STDERR.syswrite("ERROR: the job could not begin: #{error.class}: #{error.message.to_s[0, 2000]}\n")
    ensure
      exit!(125)
    end
  end
  writing.close
  begun = now
  $running[reading] = Child.new(job, pid, reading, +'', begun, begun + job['policy']['wall_s'], nil, false)
end

def end_with(child, reason)
  child.ended_for ||= reason
  Process.kill(:KILL, child.pid)
rescue Errno::ESRCH
  nil
end

# Takes up a child that has ended; false while it has not.
def reap(child)
  before = Process.times
  pid, status = Process.wait2(child.pid, Process::WNOHANG)
  return false unless pid

  after = Process.times
  drain(child)
  $running.delete(child.pipe)
  child.pipe.close
  end_orphans
  cpu = after.cutime + after.cstime - before.cutime - before.cstime
  begun, *runs = child.said.each_line.map { |line| JSON.parse(line) rescue {} }
  # A deck may write to this pipe as well: whatever is no status says nothing.
  runs.map! { |run| run.is_a?(Hash) && run['code'].is_a?(Integer) && run['code'].abs < 1 << 31 ? run['code'] : nil }
  answer = { id: child.job['id'], begun: !begun.nil?, runs: runs, exit: status.exitstatus, signal: status.termsig,
             ended_for: child.ended_for, wall_s: now - child.begun, cpu_s: cpu }
  DONE.syswrite(answer.to_json + "\n")
  true
end

MOST_SAID = 1 << 20

def drain(child)
  loop do
    said = child.pipe.read_nonblock(65_536, exception: false)
    return if said == :wait_readable
    return child.closed = true if said.nil?

    child.said << said if child.said.bytesize < MOST_SAID
  end
end

# What a child left behind comes to the server as its own, being the subreaper.
def end_orphans
  own = $running.each_value.map(&:pid)
  loop do
    children = Dir.glob('/proc/self/task/*/children').flat_map { |path| File.read(path).split.map(&:to_i) rescue [] }
    orphans = children - own
    return if orphans.empty?

    orphans.each do |pid|
      Process.kill(:KILL, pid)
      Process.wait(pid)
    rescue SystemCallError
      next
    end
  end
end

def bytes_below(folder)
  Dir.glob(File.join(folder, '**', '*'), File::FNM_DOTMATCH).sum do |path|
    stat = File.lstat(path)
    stat.file? ? stat.blocks * 512 : 0
  rescue SystemCallError
    0
  end
end

Policy.call(PRCTL, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
GC.start
Process.warmup if Process.respond_to?(:warmup)
libraries = $LOAD_PATH + (defined?(Gem) ? [*Gem.path, Gem.default_dir] : [])
DONE.syswrite({ ready: Process.pid, paths: libraries.uniq }.to_json + "\n")

waiting = []
rest = +''
ended = false
looked = now
until ended
  start(waiting.shift) while !waiting.empty? && $running.size < CHILDREN
  open_pipes = $running.each_value.reject(&:closed).map(&:pipe)
  pause = $running.empty? ? 1.0 : $running.each_value.any?(&:closed) ? 0.002 : 0.1
  ready, = IO.select([JOBS, *open_pipes], nil, nil, pause)
  (ready || []).each do |source|
    if source.equal?(JOBS)
      text = JOBS.read_nonblock(1 << 20, exception: false)
      next if text == :wait_readable
      next ended = true if text.nil?

      rest << text
      while (line = rest.slice!(/\A.*\n/))
        waiting << JSON.parse(line)
      end
    else
      drain($running[source])
    end
  end
  # A deck may close its pipe or hand it on: its end says nothing, only the process's own does.
  $running.values.each { |child| reap(child) || (end_with(child, 'time') if now > child.deadline) }
  if now - looked > 0.2
    looked = now
    $running.each_value do |child|
      end_with(child, 'disk') if bytes_below(child.job['folder']) > child.job['policy']['folder_bytes']
    end
  end
  ended = true if Process.ppid != PARENT
end
$running.each_value { |child| end_with(child, 'server') }
exit!(0)
