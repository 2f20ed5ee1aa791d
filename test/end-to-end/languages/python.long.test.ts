// Alone: one file for each language, so that its programs do not share the processors.

import t from 'tap'
import { PROGRAMS_MS, testLanguage } from './gateway-checks.ts'
import { whyNotBuilt } from './toolchains.ts'

t.test('the SDKs of Python and LangChain', { skip: whyNotBuilt('python'), timeout: PROGRAMS_MS }, t =>
  testLanguage(t, 'python', {
    openai: 11,
    'openai responses': 7,
    anthropic: 10,
    'google-genai': 11,
    'langchain-openai': 5,
    'langchain-openai responses': 5,
    'langchain-anthropic': 5,
    'langchain-google-genai': 5,
    'openai, previous_response_id': 2,
    'openai, conversation': 2,
    'langchain-openai, use_previous_response_id': 2,
    'openai-agents, previous_response_id': 2,
    'openai-agents, session': 2,
    'openai-agents, session of its own': 2,
    'llama-index': 2
  })
)
