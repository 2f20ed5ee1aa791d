"""Prompts whose response the provider of the tests determines."""

WHOLE = "[[text:Hello from the model]]"
STREAMED = '[[chunks:["Hel","lo ","there"]]]'
TOOL = '[[tool:get_weather {"city":"Oslo"}]] [[step]] [[text:It is 7 degrees]]'
BROKEN = '[[chunks:["one","two","three","four"]]] [[die:2]]'
LONG = "[[len:2000]] [[tick:20]]"
HELD = "[[len:5000]] [[tick:50]]"
SILENT = "[[slow:1200]] [[text:done]]"
SILENT_FAILURE = "[[slow:1200]] [[error:500]]"
RATE_LIMIT = "[[error:429 retry=1]]"
