# Prints pytest_iclayout/rules/drc_methods.toml from the KLayout application that runs it:
#   klayout -b -r tests/eda/drc_methods.rb > pytest_iclayout/rules/drc_methods.toml
# The names are those of the application's own reference pages that its engine also defines.  The pages have no entry
# for the options of checks and of the like (projection, whole_edges, ...): those are the engine's other functions that
# the pages' examples and usage lines name.

PAGES = %w[global layer netter source drc].freeze

def page(name)
  file = RBA::QFile.new(":/help/about/drc_ref_#{name}.xml")
  file.open(RBA::QIODevice::ReadOnly) or raise "this KLayout has no reference page #{name}"
  file.readAll.to_s
end

def plain(text)
  text.gsub("&lt;", "<").gsub("&gt;", ">").gsub("&amp;", "&")
end

nodes = DRC.constants.map { |name| DRC.const_get(name) }.select { |one| one.is_a?(Class) && one <= DRC::DRCOpNode }
defining = {
  "global" => [DRC::DRCEngine], "layer" => [DRC::DRCLayer], "netter" => [DRC::DRCNetter], "source" => [DRC::DRCSource],
  "drc" => nodes + [DRC::DRCEngine]
}

objects = Hash.new { |hash, name| hash[name] = [] }
PAGES.each do |object|
  page(object).scan(%r{<a name="([^"]*)"/><h2>}).flatten.map { |name| plain(name) }.each do |name|
    objects[name] |= [object] if defining[object].any? { |one| one.method_defined?(name) }
  end
end

shown = PAGES.flat_map { |name| page(name).scan(%r{<(b|tt|pre)>(.*?)</\1>}m).map { |_, text| plain(text) } }.join("\n")
DRC::DRCEngine.instance_methods(false).map(&:to_s).each do |name|
  next if objects.key?(name) || name !~ /\A[a-z]\w*\z/ || shown !~ /\b#{name}\b/
  objects[name] = [DRC::DRCLayer.method_defined?(name) ? "layer" : "option"]
end

puts "# Written by tests/eda/drc_methods.rb: the methods of KLayout's DRC language, and the objects that have them."
puts "version = \"#{RBA::Application.instance.version.split.last}\"", "", "[methods]"
objects.sort.each { |name, where| puts "#{name.inspect} = [#{where.map(&:inspect).join(', ')}]" }
