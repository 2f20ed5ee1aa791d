// Registers the schemas of all responses.
import './completions.ts'
import './content.ts'
import './errors.ts'
import './messages.ts'
import './responses.ts'
import './stored.ts'
import './streams.ts'
import './system.ts'
