"""What the sample document says: the annual report of a bicycle-sharing scheme that does not exist.

Every figure is invented and they add up: quarters to the year, income and costs to the surplus."""

from __future__ import annotations

TITLE = "Harbour Cycles: Annual Report 2025"
SUBTITLE = ("Annual Report 2025", "The bicycle sharing scheme of Port Ellery")
AUTHOR = "Harbour Cycles Cooperative, Port Ellery"
SUBJECT = "A sample document: town, scheme and figures are invented"

QUESTIONS = (
    "How often is every bicycle inspected?",
    "What does an annual membership cost?",
    "How many trips were made in 2025?",
    "When does the combined ferry and bicycle ticket start?",
    "Which company manufactures the bicycles?",  # the one that the report does not answer
)

TILES = (
    ("684,200", "trips in 2025"),
    ("412", "bicycles, 96 electric"),
    ("38", "docking stations"),
    ("11,260", "members at year’s end"),
)

LETTER = (
    "In 2025 our riders made 684,200 trips, 18 percent more than the 579,800 of the year before. "
    "It was the first year in which more than half of all trips were made by people who live on "
    "the hill side of town, where we opened seven new stations in March.",
    "Our mission has not changed since the cooperative was founded in 2017: anyone in Port Ellery "
    "should be able to reach work, school or the ferry by bicycle, in any season, for less than "
    "the price of a coffee. We are a non-profit cooperative, so every euro that is left at the end "
    "of a year goes back into stations, bicycles and people.",
    "The year was not without trouble. The storm of 9 February closed the harbour wall for eleven "
    "days, and a shortage of brake pads in June kept 40 bicycles in the workshop for two weeks. "
    "The mechanics, who worked three weekends to bring them back, have our thanks.",
    "Membership grew from 9,140 to 11,260. More than a third of the new members are students, who "
    "since September ride on a reduced annual membership of their own.",
)
SIGNED = "Maren Oduya, managing director"

QUARTERS = (
    ("Q1", 112_400, 88_100),
    ("Q2", 196_300, 167_500),
    ("Q3", 241_900, 211_700),
    ("Q4", 133_600, 112_500),
)
RIDING = (
    "The third quarter was the busiest, with 241,900 trips; on Saturday 16 August, the day of the "
    "regatta, riders made 4,870 trips, the most on a single day since the scheme began. The "
    "average trip was 2.5 kilometres long and took 14 minutes. Together our riders covered 1.71 "
    "million kilometres.",
    "In our October survey, 31 percent of riders said that their last trip replaced a journey by "
    "car. From this we estimate that the scheme avoided 214 tonnes of carbon dioxide in 2025.",
)
STATIONS = (
    ("Station", "Docks", "Trips started", "Change"),
    ("Old Fish Market", "36", "61,480", "+12 %"),
    ("Station Square", "42", "58,900", "+9 %"),
    ("University Steps", "30", "47,250", "+34 %"),
    ("Lighthouse Quay", "24", "39,770", "-6 %"),
    ("Hospital East", "20", "28,310", "new"),
)

COLUMNS = (
    (
        "How a trip works",
        "Open the app or hold a member card against the dock. The light turns green, the bicycle "
        "is released, and the clock starts. To end a trip, push the bicycle into any free dock "
        "until the light turns green again. If a station is full, touch the dock with your card: "
        "you get 15 minutes for nothing to reach the next one.",
        "Bicycles can be taken between 5 in the morning and 1 at night. They can be given back at "
        "any hour.",
    ),
    (
        "Keeping the docks in balance",
        "Every morning more people ride down to the harbour than up to the hill. Four vans, three "
        "of them electric, bring bicycles back to where they will be wanted. In 2025 they moved "
        "94,600 bicycles, and a station stood empty for 41 minutes a day on average, against 67 "
        "minutes in 2024.",
    ),
    (
        "In the workshop",
        "Eleven mechanics and four apprentices keep the fleet on the road. A bicycle lasts seven "
        "years with us, and nine parts out of ten are used again when it is retired.",
        "Since May the workshop has been open to everybody on the first Saturday of the month. 530 "
        "people came to mend bicycles of their own.",
    ),
    (
        "Riders on the hill",
        "When we asked in 2023 why people on the hill did not ride, the answer was the climb home. "
        "Electric bicycles changed that. The 96 that we have make up less than a quarter of the "
        "fleet and carry 44 percent of all trips that end above the railway line.",
        "Nadia Ferreira, who works nights at the hospital, takes one home every morning. “I used "
        "to wait forty minutes for the first bus,” she says. “Now I am in bed by then.”",
    ),
)

SAFETY = (
    "In 2025 there were 14 reported injuries, or 2.0 for every 100,000 trips, down from 19 "
    "injuries or 3.3 for every 100,000 trips in 2024. None of them was life-threatening. The rules "
    "below are binding for everyone who works for the cooperative.",
    (
        "Inspection. Every bicycle is inspected at least once every 21 days, and every electric "
        "bicycle at least once every 14 days.",
        "Withdrawal. A bicycle whose brakes or lights fail is withdrawn on the same day; the dock "
        "will not release it.",
        "Speed. The motor of an electric bicycle gives no help above 25 kilometres an hour.",
        "Helmets. Helmets can be borrowed without charge at nine stations; they are cleaned after "
        "each loan.",
        "Storms. When the wind exceeds 75 kilometres an hour, stations on the harbour wall are "
        "closed until the harbour master reopens the wall.",
        "Age. Riders must be at least 14 years old, and at least 16 to ride an electric bicycle.",
        "Accidents. Every accident is reported to the safety officer within 24 hours and discussed "
        "by the board at its next meeting.",
    ),
)

PRICES = (
    ("Ticket", "Price", "What it includes"),
    ("Single ride", "€1.50", "30 minutes; then €0.75 for every 15 minutes"),
    ("Day pass", "€6.00", "any number of rides of up to 45 minutes"),
    ("Monthly membership", "€14.00", "any number of rides of up to 45 minutes"),
    ("Annual membership", "€96.00", "rides of up to 60 minutes; electric bicycles included"),
    ("Student, annual", "€58.00", "as annual, with a valid student card"),
    ("Family pass, annual", "€168.00", "two adults and up to three children"),
)
PRICE_NOTES = (
    "An annual membership costs €96 and can be paid in twelve parts of €8. All other riders pay "
    "€0.90 extra for each ride on an electric bicycle.",
    "A bicycle that is not given back within 24 hours counts as lost, and the rider is charged "
    "€150. The fee is refunded in full if the bicycle is found undamaged within 30 days.",
    "A membership can be cancelled at any time. The months that have not begun are refunded.",
)

MONEY = (
    ("In thousands of euros", "2025", "2024"),
    ("Memberships", "612", "488"),
    ("Single rides and day passes", "428", "391"),
    ("Sponsors", "262", "240"),
    ("Grant from the town", "160", "180"),
    ("Income", "1,462", "1,299"),
    ("Running the stations and vans", "498", "463"),
    ("Staff and training", "386", "342"),
    ("Maintenance and parts", "347", "318"),
    ("Insurance", "94", "89"),
    ("Software and payments", "66", "61"),
    ("Costs", "1,391", "1,273"),
    ("Surplus", "71", "26"),
)
MONEY_TOTALS = (5, 11, 12)
MONEY_NOTES = (
    "Income rose by 13 percent to €1,462,000. Memberships brought in €612,000 and are now our "
    "largest source of income. The grant from the town fell from €180,000 to €160,000, as agreed, "
    "and will end in 2028.",
    "The surplus of €71,000 goes into the reserve, which stood at €203,000 on 31 December 2025. "
    "The accounts were audited by two members of the cooperative elected for the purpose.",
)

OUTLOOK = (
    "We plan for 760,000 trips in 2026. Eight new stations will open, the first of them at "
    "Northgate and Hillcrest in March, and 60 electric bicycles will join the fleet.",
    "The combined ferry and bicycle ticket starts on 1 April 2026. It costs €3.20 and includes one "
    "crossing and one ride of 30 minutes on either side of the water.",
    "In November we will try winter tyres on 50 bicycles. If they halve the number of falls on "
    "wet leaves, the whole fleet will have them a year later.",
)
PLANNED = (
    ("Station", "Opens", "Docks"),
    ("Northgate", "March", "24"),
    ("Hillcrest", "March", "20"),
    ("Ropewalk", "May", "18"),
    ("Ferry Terminal North", "June", "30"),
    ("four more, to be chosen by members", "autumn", "72"),
)
CONTACT = (
    ("Office", "12 Chandlers’ Row, Port Ellery, Monday to Friday, 8:30 to 17:30"),
    ("Telephone", "555 0142; faults and accidents at any hour: 555 0199"),
    ("E-mail", "hello@harbourcycles.example"),
    ("Lost property", "kept for 60 days at the office"),
    ("Annual meeting", "14 May 2026 at 19:00 in the Sail Loft, open to every member"),
)
