// Slow, leaving and many clients (ops/guides/reliability.md).
import { clientFaults } from '../../faults/client-faults.ts'
import { testEntries } from '../../faults/test-entries.ts'

testEntries(clientFaults)
