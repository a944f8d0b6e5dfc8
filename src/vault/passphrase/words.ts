/** 2,048 short words, put together for this list: eleven bits each. Order and spelling are part of nothing stored. */
export const WORDS: readonly string[] = `
able acorn active actor adapt admire adult advice afloat agile agree ahead airy alarm album alder alert alike alive
alley allow almond alone aloud alpine amaze amber ample amuse anchor angle ankle annual answer antler anvil apart
appear apple april apron arbor arch area arena arise armor around arrive arrow artist ash ask asleep aspen assist
aster atlas attend attic august aunt author autumn avenue avocado award aware awning axle azure baby bacon badge
badger bagel baker balcony ball ballad balloon balsa bamboo banana banjo banner barge bark barley barn barrel base
basic basil basin bask basket bath baton beach beacon bead beaker beam bean beard beauty beaver become beech beehive
beet beetle begin behind bell belt bench berry best better between beyond bicycle bingo birch bird bishop bison
bistro blade blanket blaze blend blender bless blink block bloom blouse blue board boast boat bobbin body bold bolt
bonnet bonus book boost boot border borrow bottle boulder bounce bowl box braid brain brake branch brass brave bread
breath breeze brew brick bridge bridle brief bright bring brisk broad bronze brook broom broth brother brown brush
bubble bucket buckle budget buffalo bugle build bulb bundle bunny buoy burrow bus bush busy butter button buy
cabbage cabin cable cactus cake calf calm camel camera camp canal canary candid candle candy cannon canoe canopy
canvas canyon cape caper capital caravan carbon card care cargo carpet carrot carry cart carton carve castle casual
catch cattle cause cedar celery cellar cello cement center central century cereal certain chain chair chalet chalk
chance change channel chapel chapter charge charm chart chase chat cheap cheddar cheek cheer cheese chef cherish
cherry chess chest chief child chilly chime chimney chisel chive choice choir chord chorus cider cinema circle
circus citrus city civic claim clam clap clasp class clay clean clear clerk clever click cliff climb clinic cloak
clock close cloth cloud clover club cluster coach coal coast coat cobalt cobra cocoa coconut coffee coin cold collar
color colt column comb combine comedy comet comfort comic common compass concert cone connect cook cool copper copy
coral cord cork corn corner correct cosmic cost cottage cotton couch cougar count counter couple courage court
cousin cove cover cow coyote cozy crab cradle craft crane crater crayon cream create credit creek cress crew cricket
crisp crocus crop cross crow crowd crown cruise crumb crunch crystal cub cube cuddle cuff cup curb curd curious
currant curve cushion custard custom cut cute cycle cymbal dagger dahlia daily dairy daisy dale dance danger dapple
daring dart dash data date dawn day dazzle deal dear debate decade decide deck deep defend degree delay delight
delta demand denim dentist depend depot depth desert design desk detail develop device dew dial diary dice dig digit
dill dinghy dinner direct dish distant dive divide dock doctor dog doll dollar dome domino donkey door dot double
dough dove down dozen draft dragon drain drape draw drawer dream dress drift drill drink drive drizzle drop drum dry
dual duck due duet dune dusk dust duty dwell eager eagle ear early earn earth easel east easy eat echo eclipse edge
edit effect effort egg eight eighty elastic elbow elder elect elegant eleven ember emotion empire employ empty
enable enamel energy engage engine enjoy enter entry equal equip era errand escape essay estate evening event evolve
exact example excel excite exist exit expand expect expert express extra eye fable fabric face factor factory fair
faith falcon fame family famous fan fancy farm fast father favor fawn feast feather feel fellow fence fennel fern
ferret ferry fetch fiber fiddle field fifteen fifty fig figure fill film final finch find fine finger finish fire
firefly fish fit five fix fjord flag flame flask flat flavor flax fleece fleet flint flip float flock floor flow
fluent flute flutter fly foal foam focus fog fold folder follow food foot forest forge fork formal formula fort
forty forward fossil foster found fox frame frank free freight fresh friend frog frolic front frost fruit fudge full
fun funnel fur furnace future gable gadget gain galaxy gallery galley gallon gallop game garage garden garlic garnet
gate gather gaze gazelle gear gecko general genius gentle geyser giant gift giggle ginger giraffe glacier glad glade
glance glass gleam glide globe glory glove glow glue gnome goat goblet gold golf gondola goose gopher gorge gossip
gourd grace grade grain grand granite grant grape graph grass gravel gravy gray great green greet grin grip grocery
ground group grove grow guard guess guest guide guitar gulf gull gust gym habit hail hair hall halo ham hamlet
hammer hammock hamper hand handle happen happy harbor hard harness harp harvest hat hatch haven hawk hay hazel head
health hear heart hearth heath heavy hedge heel height hello helmet help hemlock hen herb hero heron herring hidden
high hike hill hinge hippo history hive hobby hold hollow holly home honest honey honor hood hoof hook hoop hope
horizon horn hornet horse hose host hotel house hub huge hull hum human humble humor hundred hunt hurry hut hymn
ibis ice icicle idea ideal igloo image imagine impact improve inch index indigo indoor infant inform ink inlet inn
inner input insect inside inspect instant intent invent invest invite iris iron island item ivory ivy jacket jade
jaguar jam jar jasmine jazz jelly jersey jewel jigsaw jingle jog join joke jolly journal jovial joy jubilee judge
juice july jumble jumper june jungle junior juniper jury kayak keep kennel kernel kettle key kick kiln kilt kimono
kind king kiosk kiss kitchen kite kitten kiwi knack knead knee knob knot koala label labor lace ladder ladle lady
ladybug lagoon lake lamb lamp lance land lapel larch large lark last latch late lather lattice laugh launch laurel
lava law lawn layer lead leaf league lean learn leather leave lecture ledge leek left leg legend lemon lend length
lens lentil leopard lesson letter lettuce level lever library lichen lid life lift light lilac lily limb lime limit
line linen link lion liquid list listen little live lively lizard llama loaf lobby local lock locket locust lodge
loft log logic long loom loop loose lotus loud lounge lovely loyal luck lucky lullaby lumber lunar lunch lute luxury
lynx lyric machine magic magnet magpie mailbox main major mallard mallet malt manage manor mantle manual map maple
marble march mare margin marina market marsh mask mast master mat match matter mayor meadow meal measure medal
medium mellow melody melon member memory mend menu mercury merit merry mesa message metal meteor meter method metro
middle mild milk mill mimosa mind mineral mink minor mint minute mirror mist mitten mix moat mobile model modern
modest mole moment monday money monitor month mood moon moose morning mortar mosaic moss moth mother motion motor
motto mound mouse mouth move mud muffin mug mule mural muscle muse museum music muslin mussel mutual myrtle mystery
nacho name napkin narrow narwhal nation native nature navy neat neck nectar needle neon nephew nest nettle newt nice
nickel niece nimble nine ninety noble nod noise noodle noon normal north nose notch note notice notion nougat novel
nudge nugget number nurse nut nutmeg nylon oak oasis oath obey object oboe observe obtain occur ocean ochre octave
octopus offer office oil olive omelet onion onyx opal open opera opinion option orange orbit orchid orderly organ
origami origin oriole osprey otter outdoor outfit output outside oval oven owl owner oxygen oyster pace pack paddle
paddock page pail paint palace palm pancake panda panel pansy papaya paper paprika parade parcel pardon parent park
parka parrot parsley part partner party pass past pasta paste pastry patch path patient patio paw pay peach peacock
peak peanut pearl pebble pecan pedal pen pencil penguin penny peony people pepper perch perfect period permit person
petal pewter phone photo phrase piano pick pickle picnic picture pier pigeon pillar pillow pilot pinch pine pink
pint pioneer pipe pitch pixel pizza place plan planet plank plant plaster plate platter play plaza please pledge
plenty plot plow plum plume plus pocket poem poet point polish polite polka pollen pond pony pool poplar poppy
popular porch post pot potato pottery powder power praise prefer prepare present press pretty prevent price pride
prince print prism private prize process profit program project proof proper protect proud provide public puddle
puffin pull pulley pulp puma pump pumpkin pupil puppet puppy pure purple purse push puzzle pyramid quail quality
quarry quartz quay queen queue quiche quick quiet quill quilt quince quiver quiz quote rabbit raccoon race radio
radish radius raft rail rainbow raise raisin ranch random range ranger rapid rapids rare rate ratio raven ravine ray
reach read ready real reason rebuild recipe record red reduce reed reef refer reflect refresh region relax relic
remain remark remind remote rent repair repeat reply report request rescue resist resort respond rest result retire
return reunion reveal review reward rhyme rhythm ribbon rice rich ride ridge ring ripple rise ritual river roam
roast robe robin robot rock rocket roof room rooster rope rose rotate rotor rough round rover rowan royal ruby
rudder rug rune runway rural rush sable sacred saddle safari safe saffron sage salad salmon salsa salt salute sample
sand sandal sardine satin saturn sauce saucer sauna save saw scale scallop scan scarf scarlet scenic school scone
scooter score scout screen script scroll seal search season seat second secret secure seed select senior sense sepia
sequoia series serve session settle seven shadow shale shape share sharp shawl shed sheep shelf shell shield shine
ship shirt shoe shore short shovel show shower shrimp shrub shuffle shutter side siesta sign signal silk silo silver
simple sing single siren sister six sixty size skate sketch skill skip skirt sky slate sled sleeve sleigh slide slim
sloop slope sloth slow small smart smile smoke smooth snail snow soap soccer social sock sofa soft solar solid solo
solve sonata song sort sound soup source south space spade spaniel spare spark speak spear special speech speed
spell spend sphere spice spider spin spinach spiral spire spirit splash split sponge spool spoon sport spot spread
spring sprint sprout spruce square squash squid stable stack staff stag stage stair stamp stand star start state
station statue stay steady steam stem step steppe stereo stern stick stilt stock stone stool stop store stork storm
story stove straw stream street stretch stride string strong studio study style subject subtle sudden sugar suggest
suit sultan summer summit sunday sunny sunset super supper supply support sure surf survey swamp swan sweater sweet
swift swim swing switch sword symbol syrup system table tablet tact tailor talent talk tall talon tame tandem
tangelo tango tank tape tapir target tart task taste tavern taxi tea teach teal team teapot tease tell temple tempo
ten tender tennis tent term terrace test text thatch theme theory thick thicket thimble thin third thirty thought
thread three thrill thrive throw thrush thumb thyme ticket tidy tiger tile timber time tin tinsel tiny tip title
toast today token tomato tone tonight tool top topaz topic torch total toucan touch tour toward towel tower town toy
trace track tractor trade trail train tram travel tray treat tree trend trial tribe tribute trick trip trolley
trophy trout trowel truck true trumpet trunk trust truth tuba tube tulip tuna tundra tune tunic tunnel turban
turbine turkey turn turnip turret turtle tusk tutor tweed twelve twenty twice twig twin twine twist type typical
ultra umber uncle uniform union unique unit unite update upland upper upright upward urban urchin useful usual
utmost valid valley value van vanilla vapor vary vase vast vault vehicle velvet venture verb verse version vest
vibrant victory video view vigor vine viola violet violin viper virtue visible vision visit visitor vital vivid
vocal voice vole volume vote vowel voyage wafer waffle wage wagon waiter wake walk wall walnut walrus waltz wand
wander warm warrior wash wasp watch water wave wax wealth weasel weaver web wedding wedge weekend weigh west whale
wharf wheat wheel whim whisk whisper whistle white wicker wide widget wife wild willow win wind window wing winter
wire wise wish witty wizard wolf woman wombat wonder wool word work world worth wren wrench wrist writer yacht yak
yard yarn yawn year yeast yellow yield yodel yoga yogurt yolk young youth zeal zebra zenith zephyr zero zest zigzag
zinc zipper zither zone zoo zoom
`
  .trim()
  .split(/\s+/);
