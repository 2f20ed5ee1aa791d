// The page that shows the stream of the log in a browser (operations.md 2.4).
import { randomBytes } from 'node:crypto'

/** Creates the page with a nonce of its own, without which a browser runs none of its script. */
export function createViewerPage(): { headers: string[]; body: string } {
  const nonce = randomBytes(16).toString('base64')
  const policy = [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `script-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ]
  const headers = [
    'content-security-policy',
    policy.join('; '),
    'x-content-type-options',
    'nosniff',
    'referrer-policy',
    'no-referrer',
    'cache-control',
    'no-store'
  ]
  return { headers, body: page.replace('NONCE', nonce) }
}

/** The stream begins with so many earlier lines. */
const EARLIER_LINES = 500
/** A browser keeps this many lines of the log; older ones leave the page. */
const LINES_MAX = 2000

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gateway log</title>
<style>
:root { color-scheme: light dark; --page: light-dark(#f3f4f6, #0f1216); --card: light-dark(#fff, #171b21);
  --line: light-dark(#c3c8d0, #454e5c); --text: light-dark(#171b22, #e4e8ed); --accent: light-dark(#1a56c0, #85b0ff);
  --warn: light-dark(#86500a, #f0bd6b); --bad: light-dark(#ad2020, #ff9a94); --bad-back: light-dark(#fce7e6, #40201f); }
* { box-sizing: border-box; }
body { display: flex; flex-direction: column; height: 100vh; height: 100dvh; margin: 0; padding: 12px 16px; gap: 10px;
  font: 13.5px/1.45 system-ui, sans-serif; color: var(--text); background: var(--page); }
.warning { margin: 0; padding: 6px 12px; border-radius: 6px; font-weight: 600; color: var(--bad); background: var(--bad-back); }
form { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; }
input, select, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: 3px 9px; min-height: 28px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
#log { flex: 1; min-height: 200px; overflow: auto; padding: 8px 12px; border: 1px solid var(--line); border-radius: 8px;
  background: var(--card); font: 12px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
#log > .WARNING { color: var(--warn); }
#log > :is(.ERROR, .CRITICAL, .FATAL) { color: var(--bad); }
</style>
</head>
<body>
<p class="warning" role="alert">Logs may hold sensitive data. This viewer is for development and is off in PROD.</p>
<form id="connection">
<label>API key <input id="key" type="password" autocomplete="off"></label>
<label>Level <select id="level"><option value="">all</option><option>INFO</option><option>WARNING</option>
<option>ERROR</option></select></label>
<button>Connect</button>
<span id="state" role="status"></span>
</form>
<div id="log" tabindex="0" aria-label="Log"></div>
<script nonce="NONCE">
const find = id => document.getElementById(id)
const log = find('log')
let connection = new AbortController()
const REFUSALS = {
  401: ': the key is missing or wrong',
  403: ': this key or this address may not read the log',
  429: ': too many pages follow the log'
}

function showState(text) {
  find('state').textContent = text
}

/** The level of a line in either format; empty for another text. */
function readLevel(text) {
  return /^\\{"level":"([A-Z]+)"|^[-\\d :.]+ \\| ([A-Z]+)/.exec(text)?.slice(1).find(Boolean) ?? ''
}

function append(text) {
  const line = document.createElement('div')
  line.textContent = text
  line.className = readLevel(text)
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40
  log.append(line)
  while (log.childElementCount > ${LINES_MAX}) log.firstElementChild.remove()
  if (isAtEnd) log.scrollTop = log.scrollHeight
}

/** Shows the events of a text, and returns what follows the last whole one. */
function showEvents(text) {
  const frames = text.split('\\r\\n\\r\\n')
  const rest = frames.pop()
  for (const frame of frames) {
    const data = frame.split('\\r\\n').filter(field => field.startsWith('data: ')).map(field => field.slice(6))
    if (data.length > 0) append(data.join('\\n'))
  }
  return rest
}

async function connect(key, level) {
  connection.abort()
  // The stream begins with the earlier lines again.
  log.replaceChildren()
  const own = new AbortController()
  connection = own
  showState('Connecting')
  try {
    const headers = key === '' ? {} : { 'x-api-key': key }
    const query = '?lines=${EARLIER_LINES}' + (level === '' ? '' : '&level=' + level)
    const response = await fetch('/logs/stream' + query, { headers, signal: own.signal })
    if (!response.ok) {
      showState('Refused with status ' + response.status + (REFUSALS[response.status] ?? ''))
      return
    }
    showState('Connected')
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      rest = showEvents(rest + value)
    }
    showState('Ended')
  } catch {
    if (connection === own) showState('Connection lost')
  }
}

find('connection').addEventListener('submit', event => {
  event.preventDefault()
  connect(find('key').value, find('level').value)
})
find('level').addEventListener('change', () => connect(find('key').value, find('level').value))

// The key that the page itself was opened with.
const given = new URLSearchParams(location.search)
find('key').value = given.get('key') ?? given.get('x-api-key') ?? ''
connect(find('key').value, '')
</script>
</body>
</html>
`
