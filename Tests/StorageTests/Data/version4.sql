PRAGMA application_id = 1667329132;
PRAGMA user_version = 4;
CREATE TABLE mark (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE live_call (id BLOB PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE ended_call (
  place INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, ended_at INTEGER NOT NULL,
  reason TEXT NOT NULL, record BLOB NOT NULL);
CREATE TABLE participation (
  user TEXT NOT NULL, call BLOB NOT NULL, PRIMARY KEY (user, call)) WITHOUT ROWID;
CREATE TABLE missed_call (
  user TEXT NOT NULL, call BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (user, call)
) WITHOUT ROWID;
CREATE TABLE kept_reply (
  place INTEGER PRIMARY KEY, user TEXT NOT NULL, key TEXT NOT NULL,
  at INTEGER NOT NULL, body_hash INTEGER NOT NULL, reply BLOB NOT NULL,
  UNIQUE (user, key));
CREATE TABLE registration (
  user TEXT NOT NULL, device TEXT NOT NULL, provider TEXT NOT NULL, token TEXT NOT NULL,
  environment TEXT, registered_at INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (user, device, provider)) WITHOUT ROWID;
CREATE TABLE push_job (id INTEGER PRIMARY KEY, call BLOB NOT NULL, record BLOB NOT NULL);
CREATE TABLE push_outcome (
  call BLOB NOT NULL, job INTEGER NOT NULL, user TEXT NOT NULL, device TEXT NOT NULL,
  provider TEXT NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL, result TEXT NOT NULL,
  PRIMARY KEY (call, job, user, device, provider)) WITHOUT ROWID;
CREATE TABLE webhook (
  id INTEGER PRIMARY KEY, endpoint TEXT NOT NULL, call BLOB NOT NULL, type TEXT NOT NULL,
  at INTEGER NOT NULL, body BLOB NOT NULL, state TEXT NOT NULL,
  attempts INTEGER NOT NULL, due_at INTEGER NOT NULL, last_error TEXT);
CREATE INDEX webhook_state ON webhook (state, id);
CREATE TABLE timer (
  id INTEGER PRIMARY KEY, plugin TEXT NOT NULL, name TEXT NOT NULL, call BLOB,
  due_at INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE plugin_value (
  plugin TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, expires_at INTEGER,
  PRIMARY KEY (plugin, key)) WITHOUT ROWID;
CREATE INDEX plugin_value_expiry ON plugin_value (expires_at)
  WHERE expires_at IS NOT NULL;
CREATE TABLE generation (
  name TEXT PRIMARY KEY, place INTEGER NOT NULL, activated_at INTEGER NOT NULL,
  rolled_back_at INTEGER) WITHOUT ROWID;
CREATE TABLE generation_file (
  generation TEXT NOT NULL, place INTEGER NOT NULL, path TEXT NOT NULL,
  source BLOB NOT NULL, PRIMARY KEY (generation, place)) WITHOUT ROWID;
CREATE INDEX registration_token ON registration (token, provider);
CREATE TABLE recent_participation (
  place INTEGER PRIMARY KEY, participations BLOB NOT NULL);
INSERT INTO ended_call VALUES (1, x'01A205C551FD000031AA35868E8EF5C0', 1795393147390, 'rejected', CAST('{"v":1,"mode":0,"kind":"audio","ring":90000,"created":1795393147389,"rev":2,"state":"ended","data":"rejected","ended":1795393147390,"end":{"reason":"rejected","by":"gus"},"users":{"fay":{"role":"caller","state":"joined","device":"phone","at":1795393147389,"answered":1795393147389,"was_connected":true},"gus":{"state":"rejected","reason":"declined","by":"fay","data":"no","device":"phone","at":1795393147389,"answered":1795393147390,"was_connected":true}}}' AS BLOB));
INSERT INTO ended_call VALUES (2, x'01A205C552010000A376A290A3C0455A', 1795393147395, 'cancelled', CAST('{"v":1,"mode":1,"kind":"audio","ring":90000,"created":1795393147393,"rev":2,"state":"ended","ended":1795393147395,"end":{"reason":"cancelled","detail":"by_caller","by":"fay"},"users":{"fay":{"role":"caller","state":"cancelled","reason":"whole","device":"phone","at":1795393147393,"answered":1795393147393,"was_connected":true},"gus":{"state":"cancelled","reason":"whole","by":"fay","at":1795393147393,"was_connected":true}}}' AS BLOB));
INSERT INTO ended_call VALUES (3, x'01A205C552060000AF0BBC1FA5CCEAC2', 1795393147400, 'busy', CAST('{"v":1,"mode":0,"kind":"audio","ring":90000,"created":1795393147398,"rev":2,"state":"ended","ended":1795393147400,"end":{"reason":"busy","by":"later-3"},"users":{"fay":{"role":"caller","state":"joined","device":"phone","at":1795393147398,"answered":1795393147398,"was_connected":true},"later-3":{"state":"rejected","reason":"busy","by":"fay","data":"{\"reason\":\"busy\",\"callID\":\"01a205c552060000af0bbc1fa5cceac2\"}","at":1795393147398,"answered":1795393147400}}}' AS BLOB));
INSERT INTO ended_call VALUES (4, x'01A205C55208000015CD81A666CFB4B4', 1795393147404, 'not_connected', CAST('{"v":1,"mode":3,"kind":"audio","ring":60000,"created":1795393147400,"rev":3,"state":"ended","media":"establishing","answered":1795393147402,"ended":1795393147404,"end":{"reason":"not_connected","by":"fay"},"users":{"fay":{"role":"caller","state":"joined","device":"phone","at":1795393147400,"answered":1795393147400,"was_connected":true},"gus":{"state":"joined","by":"fay","device":"phone","at":1795393147400,"answered":1795393147402,"was_connected":true}}}' AS BLOB));
INSERT INTO ended_call VALUES (5, x'01A205C5520E00007C7E6697C5045E15', 1795393148406, 'no_answer', CAST('{"v":1,"mode":0,"kind":"audio","ring":1000,"created":1795393147406,"rev":2,"state":"ended","ended":1795393148406,"end":{"reason":"no_answer"},"users":{"fay":{"role":"caller","state":"joined","device":"phone","at":1795393147406,"answered":1795393147406,"was_connected":true},"hal":{"state":"timed_out","by":"fay","at":1795393147406}}}' AS BLOB));
INSERT INTO generation VALUES ('57a7c332df93', 4, 1795393148542, NULL);
INSERT INTO generation VALUES ('825e3ec949e9', 3, 1795393148506, 1795393148542);
INSERT INTO generation VALUES ('b153fdda32ad', 1, 1795393147261, NULL);
INSERT INTO generation_file VALUES ('57a7c332df93', 0, 'callagent.lua', CAST('listen = "127.0.0.1:{port}"
state_dir = "state"
plugins = { "desk", "clock" }
answer_for = { "support", "later-*" }
auth = { { alg = "HS256", key = secret "file:keys/jwt", aud = "calls" } }
push = {
  apns = { key = secret "file:keys/apns.p8", key_id = "ABC123DEFG",
    team_id = "TEAM123456", bundle_id = "com.example.app", server = "{base}",
    sandbox_server = "{base}" },
  fcm = { account = secret "file:keys/account.json", server = "{base}" },
  web = { key = secret "file:keys/vapid.pem", subject = "mailto:ops@example.com",
    allow = { "127.0.0.0/8", "::1" } },
  webhook = { url = "{base}/hook/gateway", secret = secret "file:keys/hook" },
}
webhooks = {
  { name = "slow", url = "{base}/hook/slow", secret = secret "file:keys/hook", allow = { "127.0.0.0/8", "::1" }, events = { "call.ended" } },
  { name = "gone", url = "{base}/hook/gone", secret = secret "file:keys/hook", allow = { "127.0.0.0/8", "::1" }, events = { "call.ended" } },
}
' AS BLOB));
INSERT INTO generation_file VALUES ('57a7c332df93', 1, 'plugins/clock.lua', CAST('every("3h", "sweep", function() end)
at("04:05", "night", function() end)
state.begun = true
' AS BLOB));
INSERT INTO generation_file VALUES ('57a7c332df93', 2, 'plugins/desk.lua', CAST('-- 2
timer("remind", function(data) end)
timer("expire", function(data, call) end)
on.invite(function(call)
  kv.incr("asked", 1)
  kv.set("last " .. call.caller.id, { mode = call.mode, list = { 1, 2 } }, { ttl = "7d" })
  later("6h", "remind", { who = call.caller.id })
  call:later("5h", "expire", "soon")
  if call.callee.id == "later-1" then return accept { wait = "100s" } end
  if call.callee.id == "later-2" then return ring { for_ = "90s" } end
  if call.callee.id == "later-3" then return reject "busy" end
  return accept { extended_data = { from = "desk" } }
end)
' AS BLOB));
INSERT INTO generation_file VALUES ('825e3ec949e9', 0, 'callagent.lua', CAST('listen = "127.0.0.1:{port}"
state_dir = "state"
plugins = { "desk", "clock" }
answer_for = { "support", "later-*" }
auth = { { alg = "HS256", key = secret "file:keys/jwt", aud = "calls" } }
push = {
  apns = { key = secret "file:keys/apns.p8", key_id = "ABC123DEFG",
    team_id = "TEAM123456", bundle_id = "com.example.app", server = "{base}",
    sandbox_server = "{base}" },
  fcm = { account = secret "file:keys/account.json", server = "{base}" },
  web = { key = secret "file:keys/vapid.pem", subject = "mailto:ops@example.com",
    allow = { "127.0.0.0/8", "::1" } },
  webhook = { url = "{base}/hook/gateway", secret = secret "file:keys/hook" },
}
webhooks = {
  { name = "slow", url = "{base}/hook/slow", secret = secret "file:keys/hook", allow = { "127.0.0.0/8", "::1" }, events = { "call.ended" } },
  { name = "gone", url = "{base}/hook/gone", secret = secret "file:keys/hook", allow = { "127.0.0.0/8", "::1" }, events = { "call.ended" } },
}
' AS BLOB));
INSERT INTO generation_file VALUES ('825e3ec949e9', 1, 'plugins/clock.lua', CAST('every("3h", "sweep", function() end)
at("04:05", "night", function() end)
state.begun = true
' AS BLOB));
INSERT INTO generation_file VALUES ('825e3ec949e9', 2, 'plugins/desk.lua', CAST('-- 3
timer("remind", function(data) end)
timer("expire", function(data, call) end)
on.invite(function(call)
  kv.incr("asked", 1)
  kv.set("last " .. call.caller.id, { mode = call.mode, list = { 1, 2 } }, { ttl = "7d" })
  later("6h", "remind", { who = call.caller.id })
  call:later("5h", "expire", "soon")
  if call.callee.id == "later-1" then return accept { wait = "100s" } end
  if call.callee.id == "later-2" then return ring { for_ = "90s" } end
  if call.callee.id == "later-3" then return reject "busy" end
  return accept { extended_data = { from = "desk" } }
end)
' AS BLOB));
INSERT INTO generation_file VALUES ('b153fdda32ad', 0, 'callagent.lua', CAST('listen = "127.0.0.1:{port}"
state_dir = "state"
plugins = { "desk", "clock" }
answer_for = { "support", "later-*" }
auth = { { alg = "HS256", key = secret "file:keys/jwt", aud = "calls" } }
push = {
  apns = { key = secret "file:keys/apns.p8", key_id = "ABC123DEFG",
    team_id = "TEAM123456", bundle_id = "com.example.app", server = "{base}",
    sandbox_server = "{base}" },
  fcm = { account = secret "file:keys/account.json", server = "{base}" },
  web = { key = secret "file:keys/vapid.pem", subject = "mailto:ops@example.com",
    allow = { "127.0.0.0/8", "::1" } },
  webhook = { url = "{base}/hook/gateway", secret = secret "file:keys/hook" },
}
webhooks = {
  { name = "slow", url = "{base}/hook/slow", secret = secret "file:keys/hook", allow = { "127.0.0.0/8", "::1" }, events = { "call.ended" } },
  { name = "gone", url = "{base}/hook/gone", secret = secret "file:keys/hook", allow = { "127.0.0.0/8", "::1" }, events = { "call.ended" } },
}
' AS BLOB));
INSERT INTO generation_file VALUES ('b153fdda32ad', 1, 'plugins/clock.lua', CAST('every("3h", "sweep", function() end)
at("04:05", "night", function() end)
state.begun = true
' AS BLOB));
INSERT INTO generation_file VALUES ('b153fdda32ad', 2, 'plugins/desk.lua', CAST('timer("remind", function(data) end)
timer("expire", function(data, call) end)
on.invite(function(call)
  kv.incr("asked", 1)
  kv.set("last " .. call.caller.id, { mode = call.mode, list = { 1, 2 } }, { ttl = "7d" })
  later("6h", "remind", { who = call.caller.id })
  call:later("5h", "expire", "soon")
  if call.callee.id == "later-1" then return accept { wait = "100s" } end
  if call.callee.id == "later-2" then return ring { for_ = "90s" } end
  if call.callee.id == "later-3" then return reject "busy" end
  return accept { extended_data = { from = "desk" } }
end)
' AS BLOB));
INSERT INTO kept_reply VALUES (1, 'ann', 'key-0', 1795393148410, 2002396257783258533, CAST('"ok":{"call_id":"01a205c555fa000050b1011f6917ec2e","call":{"call_id":"01a205c555fa000050b1011f6917ec2e","mode":"advanced","kind":"audio","state":"ringing","caller":"ann","extended_data":null,"items":{},"created_at":1795393148410,"answered_at":null,"connected_at":null,"ended_at":null,"timeout_ms":120000,"revision":1,"media":"none","end":null,"participants":[{"user":"ann","role":"caller","invited_by":null,"state":"joined","reason":null,"extended_data":null,"invited_at":1795393148410,"deadline_at":null,"answered_at":1795393148410,"device":"phone","audio":true,"video":false,"held":false},{"user":"eve","role":"invitee","invited_by":"ann","state":"inviting","reason":null,"extended_data":null,"invited_at":1795393148410,"deadline_at":1795393268410,"answered_at":null,"device":null,"audio":true,"video":false,"held":false}]},"errors":[]}}' AS BLOB));
INSERT INTO kept_reply VALUES (2, 'ann', 'key-1', 1795393148412, 2002396257783258533, CAST('"ok":{"call_id":"01a205c555fc000006361c3a29a1f3c8","call":{"call_id":"01a205c555fc000006361c3a29a1f3c8","mode":"advanced","kind":"audio","state":"ringing","caller":"ann","extended_data":null,"items":{},"created_at":1795393148412,"answered_at":null,"connected_at":null,"ended_at":null,"timeout_ms":120000,"revision":1,"media":"none","end":null,"participants":[{"user":"ann","role":"caller","invited_by":null,"state":"joined","reason":null,"extended_data":null,"invited_at":1795393148412,"deadline_at":null,"answered_at":1795393148412,"device":"phone","audio":true,"video":false,"held":false},{"user":"eve","role":"invitee","invited_by":"ann","state":"inviting","reason":null,"extended_data":null,"invited_at":1795393148412,"deadline_at":1795393268412,"answered_at":null,"device":null,"audio":true,"video":false,"held":false}]},"errors":[]}}' AS BLOB));
INSERT INTO kept_reply VALUES (3, 'ann', 'key-2', 1795393148414, 2002396257783258533, CAST('"ok":{"call_id":"01a205c555fe00003a0dc44e6a739dcb","call":{"call_id":"01a205c555fe00003a0dc44e6a739dcb","mode":"advanced","kind":"audio","state":"ringing","caller":"ann","extended_data":null,"items":{},"created_at":1795393148414,"answered_at":null,"connected_at":null,"ended_at":null,"timeout_ms":120000,"revision":1,"media":"none","end":null,"participants":[{"user":"ann","role":"caller","invited_by":null,"state":"joined","reason":null,"extended_data":null,"invited_at":1795393148414,"deadline_at":null,"answered_at":1795393148414,"device":"phone","audio":true,"video":false,"held":false},{"user":"eve","role":"invitee","invited_by":"ann","state":"inviting","reason":null,"extended_data":null,"invited_at":1795393148414,"deadline_at":1795393268414,"answered_at":null,"device":null,"audio":true,"video":false,"held":false}]},"errors":[]}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551AB00003076CFAC200BB540', CAST('{"v":1,"mode":0,"kind":"audio","ring":120000,"created":1795393147307,"rev":1,"data":"{\"n\":1}","users":{"caller-common":{"role":"caller","state":"joined","device":"phone","at":1795393147307,"answered":1795393147307,"was_connected":true},"x-common":{"state":"inviting","by":"caller-common","at":1795393147307,"until":1795393267307}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551AF000033DB905B896A8382', CAST('{"v":1,"mode":1,"kind":"audio","ring":120000,"created":1795393147311,"rev":1,"group":true,"data":"{\"n\":1}","users":{"caller-advanced":{"role":"caller","state":"joined","device":"phone","at":1795393147311,"answered":1795393147311,"was_connected":true},"bob":{"state":"inviting","by":"caller-advanced","at":1795393147311,"until":1795393267311},"x-advanced":{"state":"inviting","by":"caller-advanced","at":1795393147311,"until":1795393267311}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551B60000E174D63FCD36FE33', CAST('{"v":1,"mode":3,"kind":"audio","ring":120000,"created":1795393147318,"rev":1,"data":"{\"n\":1}","users":{"caller-direct":{"role":"caller","state":"joined","device":"phone","at":1795393147318,"answered":1795393147318,"was_connected":true},"x-direct":{"state":"inviting","by":"caller-direct","at":1795393147318,"until":1795393267318}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551BA0000DAC9ECB2BB05F76C', CAST('{"v":1,"mode":2,"kind":"audio","ring":120000,"created":1795393147322,"rev":1,"data":"{\"n\":1}","users":{"caller-managed":{"role":"caller","state":"joined","device":"phone","at":1795393147322,"answered":1795393147322,"was_connected":true},"x-managed":{"state":"inviting","by":"caller-managed","at":1795393147322,"until":1795393267322}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551BE0000FC7FDCE2F3642251', CAST('{"v":1,"mode":6,"kind":"audio","ring":120000,"created":1795393147326,"rev":1,"data":"{\"n\":1}","users":{"caller-handshake":{"role":"caller","state":"joined","device":"phone","at":1795393147326,"answered":1795393147326,"was_connected":true},"x-handshake":{"state":"inviting","by":"caller-handshake","at":1795393147326,"delivery_alarm":1795393177326}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551C0000067DE058A39930DC1', CAST('{"v":1,"mode":4,"kind":"audio","ring":45000,"created":1795393147328,"rev":1,"data":"{\"n\":1}","users":{"caller-ringing":{"role":"caller","state":"joined","device":"phone","at":1795393147328,"answered":1795393147328,"was_connected":true},"x-ringing":{"state":"inviting","by":"caller-ringing","at":1795393147328,"until":1795393192328}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551C40000CC2BB9C603511638', CAST('{"v":1,"mode":5,"kind":"audio","ring":120000,"created":1795393147332,"rev":1,"group":true,"data":"{\"n\":1}","users":{"caller-group":{"role":"caller","state":"joined","device":"phone","at":1795393147332,"answered":1795393147332,"was_connected":true},"bob":{"state":"inviting","by":"caller-group","at":1795393147332,"until":1795393267332},"x-group":{"state":"inviting","by":"caller-group","at":1795393147332,"until":1795393267332}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551CA0000D3609DDD79A79964', CAST('{"v":1,"mode":1,"kind":"video","ring":120000,"created":1795393147338,"rev":2,"state":"active","data":"hi","answered":1795393147340,"users":{"second-advanced":{"role":"caller","state":"joined","device":"phone","at":1795393147338,"answered":1795393147338,"video":true,"was_connected":true},"callee-advanced":{"state":"joined","by":"second-advanced","data":"yes","device":"phone","at":1795393147338,"answered":1795393147340,"video":true,"was_connected":true}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551D10000BFBA6E6DCA4D0E4C', CAST('{"v":1,"mode":3,"kind":"video","ring":120000,"created":1795393147345,"rev":2,"state":"active","media":"establishing","data":"hi","items":[{"key":"room","value":"7"}],"answered":1795393147346,"media_alarm":1795393207346,"users":{"second-direct":{"role":"caller","state":"joined","device":"phone","at":1795393147345,"answered":1795393147345,"video":true,"was_connected":true},"callee-direct":{"state":"joined","by":"second-direct","data":"yes","device":"phone","at":1795393147345,"answered":1795393147346,"video":true,"was_connected":true}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551D7000012F5AD6397853A11', CAST('{"v":1,"mode":2,"kind":"video","ring":120000,"created":1795393147351,"rev":2,"state":"active","data":"hi","answered":1795393147357,"users":{"second-managed":{"role":"caller","state":"joined","device":"phone","at":1795393147351,"answered":1795393147351,"video":true,"was_connected":true},"callee-managed":{"state":"joined","by":"second-managed","data":"yes","device":"phone","at":1795393147351,"answered":1795393147357,"video":true,"was_connected":true}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551E20000A156FC280504961D', CAST('{"v":1,"mode":5,"kind":"video","ring":120000,"created":1795393147362,"rev":2,"state":"active","data":"hi","answered":1795393147363,"users":{"second-group":{"role":"caller","state":"joined","device":"phone","at":1795393147362,"answered":1795393147362,"video":true,"was_connected":true},"callee-group":{"state":"joined","by":"second-group","data":"yes","device":"phone","at":1795393147362,"answered":1795393147363,"video":true,"was_connected":true}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551E400000FD4E68387DC32CB', CAST('{"v":1,"mode":1,"kind":"audio","ring":120000,"created":1795393147364,"rev":2,"state":"active","group":true,"answered":1795393147374,"users":{"ann":{"role":"caller","state":"joined","device":"phone","at":1795393147364,"answered":1795393147364,"was_connected":true},"support":{"state":"joined","by":"ann","data":"{\"from\":\"desk\"}","at":1795393147364,"answered":1795393147374,"answered_for":true},"cid":{"state":"inviting","by":"ann","at":1795393147364,"until":1795393267364},"dan":{"state":"inviting","by":"ann","at":1795393147364,"until":1795393267364}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551E70000C7F7BD4B98CAB272', CAST('{"v":1,"mode":1,"kind":"audio","ring":120000,"created":1795393147367,"rev":1,"group":true,"users":{"ann":{"role":"caller","state":"joined","device":"phone","at":1795393147367,"answered":1795393147367,"was_connected":true},"later-1":{"state":"ringing","by":"ann","at":1795393147367,"until":1795393267367,"asking":"waiting","policy_alarm":1795393247376,"waiting":{"plugin":"desk"}},"cid":{"state":"inviting","by":"ann","at":1795393147367,"until":1795393267367},"dan":{"state":"inviting","by":"ann","at":1795393147367,"until":1795393267367}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C551EF0000B594DA7DAAD1EB14', CAST('{"v":1,"mode":1,"kind":"audio","ring":120000,"created":1795393147375,"rev":1,"group":true,"users":{"ann":{"role":"caller","state":"joined","device":"phone","at":1795393147375,"answered":1795393147375,"was_connected":true},"later-2":{"state":"ringing","by":"ann","at":1795393147375,"until":1795393267375,"ask_from":1,"asking":"ringing_for","policy_alarm":1795393237385},"cid":{"state":"inviting","by":"ann","at":1795393147375,"until":1795393267375},"dan":{"state":"inviting","by":"ann","at":1795393147375,"until":1795393267375}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C555FA000050B1011F6917EC2E', CAST('{"v":1,"mode":1,"kind":"audio","ring":120000,"created":1795393148410,"rev":1,"users":{"ann":{"role":"caller","state":"joined","device":"phone","at":1795393148410,"answered":1795393148410,"was_connected":true},"eve":{"state":"inviting","by":"ann","at":1795393148410,"until":1795393268410}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C555FC000006361C3A29A1F3C8', CAST('{"v":1,"mode":1,"kind":"audio","ring":120000,"created":1795393148412,"rev":1,"users":{"ann":{"role":"caller","state":"joined","device":"phone","at":1795393148412,"answered":1795393148412,"was_connected":true},"eve":{"state":"inviting","by":"ann","at":1795393148412,"until":1795393268412}}}' AS BLOB));
INSERT INTO live_call VALUES (x'01A205C555FE00003A0DC44E6A739DCB', CAST('{"v":1,"mode":1,"kind":"audio","ring":120000,"created":1795393148414,"rev":1,"users":{"ann":{"role":"caller","state":"joined","device":"phone","at":1795393148414,"answered":1795393148414,"was_connected":true},"eve":{"state":"inviting","by":"ann","at":1795393148414,"until":1795393268414}}}' AS BLOB));
INSERT INTO mark VALUES ('clean', 0);
INSERT INTO mark VALUES ('job', 36);
INSERT INTO mark VALUES ('newest', 1795393148610);
INSERT INTO missed_call VALUES ('hal', x'01A205C5520E00007C7E6697C5045E15', 1795393148406);
INSERT INTO plugin_value VALUES ('', 'revoked ["device","bob","stolen"]', CAST('1795393148589' AS BLOB), NULL);
INSERT INTO plugin_value VALUES ('', 'revoked ["token","lost"]', CAST('1795393148610' AS BLOB), NULL);
INSERT INTO plugin_value VALUES ('', 'revoked ["user","mallory"]', CAST('1795393148567' AS BLOB), NULL);
INSERT INTO plugin_value VALUES ('@webhooks', 'gone', CAST('{"disabled_at":1795393147394}' AS BLOB), NULL);
INSERT INTO plugin_value VALUES ('desk', 'asked', CAST('4' AS BLOB), NULL);
INSERT INTO plugin_value VALUES ('desk', 'last ann', CAST('{"list":[1,2],"mode":"advanced"}' AS BLOB), 1795997947377);
INSERT INTO plugin_value VALUES ('desk', 'last fay', CAST('{"list":[1,2],"mode":"common"}' AS BLOB), 1795997947399);
INSERT INTO push_job VALUES (2, x'01A205C551AF000033DB905B896A8382', CAST('{"user":"bob","kind":"invite","expires":1795393267311}' AS BLOB));
INSERT INTO push_job VALUES (8, x'01A205C551C40000CC2BB9C603511638', CAST('{"user":"bob","kind":"invite","expires":1795393267332}' AS BLOB));
INSERT INTO push_outcome VALUES (x'01A205C551E400000FD4E68387DC32CB', 14, 'cid', 'phone', 'apns', 'invite', 1795393147373, 'sent');
INSERT INTO push_outcome VALUES (x'01A205C551E400000FD4E68387DC32CB', 15, 'dan', 'phone', 'web', 'invite', 1795393147381, 'sent');
INSERT INTO push_outcome VALUES (x'01A205C551E70000C7F7BD4B98CAB272', 16, 'cid', 'phone', 'apns', 'invite', 1795393147385, 'sent');
INSERT INTO push_outcome VALUES (x'01A205C551E70000C7F7BD4B98CAB272', 17, 'dan', 'phone', 'web', 'invite', 1795393147385, 'sent');
INSERT INTO push_outcome VALUES (x'01A205C551EF0000B594DA7DAAD1EB14', 18, 'cid', 'phone', 'apns', 'invite', 1795393147386, 'sent');
INSERT INTO push_outcome VALUES (x'01A205C551EF0000B594DA7DAAD1EB14', 19, 'dan', 'phone', 'web', 'invite', 1795393147386, 'sent');
INSERT INTO recent_participation VALUES (1, x'0D63616C6C65722D636F6D6D6F6E01A205C551AB00003076CFAC200BB54008782D636F6D6D6F6E01A205C551AB00003076CFAC200BB540');
INSERT INTO recent_participation VALUES (2, x'0F63616C6C65722D616476616E63656401A205C551AF000033DB905B896A838203626F6201A205C551AF000033DB905B896A83820A782D616476616E63656401A205C551AF000033DB905B896A8382');
INSERT INTO recent_participation VALUES (3, x'0D63616C6C65722D64697265637401A205C551B60000E174D63FCD36FE3308782D64697265637401A205C551B60000E174D63FCD36FE33');
INSERT INTO recent_participation VALUES (4, x'0E63616C6C65722D6D616E6167656401A205C551BA0000DAC9ECB2BB05F76C09782D6D616E6167656401A205C551BA0000DAC9ECB2BB05F76C');
INSERT INTO recent_participation VALUES (5, x'1063616C6C65722D68616E647368616B6501A205C551BE0000FC7FDCE2F36422510B782D68616E647368616B6501A205C551BE0000FC7FDCE2F3642251');
INSERT INTO recent_participation VALUES (6, x'0E63616C6C65722D72696E67696E6701A205C551C0000067DE058A39930DC109782D72696E67696E6701A205C551C0000067DE058A39930DC1');
INSERT INTO recent_participation VALUES (7, x'0C63616C6C65722D67726F757001A205C551C40000CC2BB9C60351163803626F6201A205C551C40000CC2BB9C60351163807782D67726F757001A205C551C40000CC2BB9C603511638');
INSERT INTO recent_participation VALUES (8, x'0F7365636F6E642D616476616E63656401A205C551CA0000D3609DDD79A799640F63616C6C65652D616476616E63656401A205C551CA0000D3609DDD79A79964');
INSERT INTO recent_participation VALUES (9, x'0D7365636F6E642D64697265637401A205C551D10000BFBA6E6DCA4D0E4C0D63616C6C65652D64697265637401A205C551D10000BFBA6E6DCA4D0E4C');
INSERT INTO recent_participation VALUES (10, x'0E7365636F6E642D6D616E6167656401A205C551D7000012F5AD6397853A110E63616C6C65652D6D616E6167656401A205C551D7000012F5AD6397853A11');
INSERT INTO recent_participation VALUES (11, x'0C7365636F6E642D67726F757001A205C551E20000A156FC280504961D0C63616C6C65652D67726F757001A205C551E20000A156FC280504961D');
INSERT INTO recent_participation VALUES (12, x'03616E6E01A205C551E400000FD4E68387DC32CB07737570706F727401A205C551E400000FD4E68387DC32CB0363696401A205C551E400000FD4E68387DC32CB0364616E01A205C551E400000FD4E68387DC32CB');
INSERT INTO recent_participation VALUES (13, x'03616E6E01A205C551E70000C7F7BD4B98CAB272076C617465722D3101A205C551E70000C7F7BD4B98CAB2720363696401A205C551E70000C7F7BD4B98CAB2720364616E01A205C551E70000C7F7BD4B98CAB272');
INSERT INTO recent_participation VALUES (14, x'03616E6E01A205C551EF0000B594DA7DAAD1EB14076C617465722D3201A205C551EF0000B594DA7DAAD1EB140363696401A205C551EF0000B594DA7DAAD1EB140364616E01A205C551EF0000B594DA7DAAD1EB14');
INSERT INTO recent_participation VALUES (15, x'0366617901A205C551FD000031AA35868E8EF5C00367757301A205C551FD000031AA35868E8EF5C0');
INSERT INTO recent_participation VALUES (16, x'0366617901A205C552010000A376A290A3C0455A0367757301A205C552010000A376A290A3C0455A');
INSERT INTO recent_participation VALUES (17, x'0366617901A205C552060000AF0BBC1FA5CCEAC2076C617465722D3301A205C552060000AF0BBC1FA5CCEAC2');
INSERT INTO recent_participation VALUES (18, x'0366617901A205C55208000015CD81A666CFB4B40367757301A205C55208000015CD81A666CFB4B4');
INSERT INTO recent_participation VALUES (19, x'0366617901A205C5520E00007C7E6697C5045E150368616C01A205C5520E00007C7E6697C5045E15');
INSERT INTO recent_participation VALUES (20, x'03616E6E01A205C555FA000050B1011F6917EC2E0365766501A205C555FA000050B1011F6917EC2E');
INSERT INTO recent_participation VALUES (21, x'03616E6E01A205C555FC000006361C3A29A1F3C80365766501A205C555FC000006361C3A29A1F3C8');
INSERT INTO recent_participation VALUES (22, x'03616E6E01A205C555FE00003A0DC44E6A739DCB0365766501A205C555FE00003A0DC44E6A739DCB');
INSERT INTO registration VALUES ('bob', 'phone', 'fcm', 'sleeping-bob', NULL, 1795393147294);
INSERT INTO registration VALUES ('cid', 'phone', 'apns', 'c100000000000000000000000000000000000000000000000000000000000000', 'sandbox', 1795393147298);
INSERT INTO registration VALUES ('dan', 'phone', 'web', '{"endpoint": "{base}/web/dan", "keys": {"p256dh": "BFvtBPnRAWNwt93rL4OOZ1DOqIgXqdhir8IfY--etiaimvKp1tFNny9RODcjDuipM4bipQtKBBGrFSmwe_xO1Ck", "auth": "4MEJxPp-RCHShbpXLjhIcg"}}', NULL, 1795393147302);
INSERT INTO timer VALUES (1, 'clock', 'night', NULL, 1795406700000, CAST('{"data":null,"schedule":"at 245"}' AS BLOB));
INSERT INTO timer VALUES (2, 'clock', 'sweep', NULL, 1795403947261, CAST('{"data":null,"schedule":"every 10800000"}' AS BLOB));
INSERT INTO timer VALUES (7, 'desk', 'remind', NULL, 1795414747374, CAST('{"data":{"who":"ann"},"account":"support"}' AS BLOB));
INSERT INTO timer VALUES (8, 'desk', 'expire', x'01A205C551E400000FD4E68387DC32CB', 1795411147374, CAST('{"data":"soon","account":"support"}' AS BLOB));
INSERT INTO timer VALUES (10, 'desk', 'remind', NULL, 1795414747375, CAST('{"data":{"who":"ann"},"account":"later-1"}' AS BLOB));
INSERT INTO timer VALUES (11, 'desk', 'expire', x'01A205C551E70000C7F7BD4B98CAB272', 1795411147375, CAST('{"data":"soon","account":"later-1"}' AS BLOB));
INSERT INTO timer VALUES (13, 'desk', 'remind', NULL, 1795414747385, CAST('{"data":{"who":"ann"},"account":"later-2"}' AS BLOB));
INSERT INTO timer VALUES (14, 'desk', 'expire', x'01A205C551EF0000B594DA7DAAD1EB14', 1795411147385, CAST('{"data":"soon","account":"later-2"}' AS BLOB));
INSERT INTO timer VALUES (17, 'desk', 'remind', NULL, 1795414747400, CAST('{"data":{"who":"fay"},"account":"later-3"}' AS BLOB));
INSERT INTO webhook VALUES (23, 'slow', x'01A205C551FD000031AA35868E8EF5C0', 'call.ended', 1795393147390, CAST('{"type":"call.ended","timestamp_at":1795393147390,"data":{"call_id":"01a205c551fd000031aa35868e8ef5c0","revision":2,"at":1795393147390,"actor":{"user":"gus","device":"phone"},"end":{"reason":"rejected","detail":null,"by":"gus","extended_data":null},"ended_at":1795393147390,"duration_ms":0,"call":{"call_id":"01a205c551fd000031aa35868e8ef5c0","mode":"common","kind":"audio","state":"ended","caller":"fay","extended_data":"rejected","items":{},"created_at":1795393147389,"answered_at":null,"connected_at":null,"ended_at":1795393147390,"timeout_ms":90000,"revision":2,"media":"none","end":{"reason":"rejected","detail":null,"by":"gus","extended_data":null},"participants":[{"user":"fay","role":"caller","invited_by":null,"state":"joined","reason":null,"extended_data":null,"invited_at":1795393147389,"deadline_at":null,"answered_at":1795393147389,"device":"phone","audio":true,"video":false,"held":false},{"user":"gus","role":"invitee","invited_by":"fay","state":"rejected","reason":"declined","extended_data":"no","invited_at":1795393147389,"deadline_at":null,"answered_at":1795393147390,"device":"phone","audio":true,"video":false,"held":false}]}}}' AS BLOB), 'open', 0, 1795393147390, NULL);
INSERT INTO webhook VALUES (24, 'gone', x'01A205C551FD000031AA35868E8EF5C0', 'call.ended', 1795393147390, CAST('{"type":"call.ended","timestamp_at":1795393147390,"data":{"call_id":"01a205c551fd000031aa35868e8ef5c0","revision":2,"at":1795393147390,"actor":{"user":"gus","device":"phone"},"end":{"reason":"rejected","detail":null,"by":"gus","extended_data":null},"ended_at":1795393147390,"duration_ms":0,"call":{"call_id":"01a205c551fd000031aa35868e8ef5c0","mode":"common","kind":"audio","state":"ended","caller":"fay","extended_data":"rejected","items":{},"created_at":1795393147389,"answered_at":null,"connected_at":null,"ended_at":1795393147390,"timeout_ms":90000,"revision":2,"media":"none","end":{"reason":"rejected","detail":null,"by":"gus","extended_data":null},"participants":[{"user":"fay","role":"caller","invited_by":null,"state":"joined","reason":null,"extended_data":null,"invited_at":1795393147389,"deadline_at":null,"answered_at":1795393147389,"device":"phone","audio":true,"video":false,"held":false},{"user":"gus","role":"invitee","invited_by":"fay","state":"rejected","reason":"declined","extended_data":"no","invited_at":1795393147389,"deadline_at":null,"answered_at":1795393147390,"device":"phone","audio":true,"video":false,"held":false}]}}}' AS BLOB), 'open', 0, 1795393147390, NULL);
INSERT INTO webhook VALUES (27, 'slow', x'01A205C552010000A376A290A3C0455A', 'call.ended', 1795393147395, CAST('{"type":"call.ended","timestamp_at":1795393147395,"data":{"call_id":"01a205c552010000a376a290a3c0455a","revision":2,"at":1795393147395,"actor":{"user":"fay","device":"phone"},"end":{"reason":"cancelled","detail":"by_caller","by":"fay","extended_data":null},"ended_at":1795393147395,"duration_ms":0,"call":{"call_id":"01a205c552010000a376a290a3c0455a","mode":"advanced","kind":"audio","state":"ended","caller":"fay","extended_data":null,"items":{},"created_at":1795393147393,"answered_at":null,"connected_at":null,"ended_at":1795393147395,"timeout_ms":90000,"revision":2,"media":"none","end":{"reason":"cancelled","detail":"by_caller","by":"fay","extended_data":null},"participants":[{"user":"fay","role":"caller","invited_by":null,"state":"cancelled","reason":"whole","extended_data":null,"invited_at":1795393147393,"deadline_at":null,"answered_at":1795393147393,"device":"phone","audio":true,"video":false,"held":false},{"user":"gus","role":"invitee","invited_by":"fay","state":"cancelled","reason":"whole","extended_data":null,"invited_at":1795393147393,"deadline_at":null,"answered_at":null,"device":null,"audio":true,"video":false,"held":false}]}}}' AS BLOB), 'open', 0, 1795393147395, NULL);
INSERT INTO webhook VALUES (28, 'slow', x'01A205C552060000AF0BBC1FA5CCEAC2', 'call.ended', 1795393147400, CAST('{"type":"call.ended","timestamp_at":1795393147400,"data":{"call_id":"01a205c552060000af0bbc1fa5cceac2","revision":2,"at":1795393147400,"actor":{"policy":"desk"},"end":{"reason":"busy","detail":null,"by":"later-3","extended_data":null},"ended_at":1795393147400,"duration_ms":0,"call":{"call_id":"01a205c552060000af0bbc1fa5cceac2","mode":"common","kind":"audio","state":"ended","caller":"fay","extended_data":null,"items":{},"created_at":1795393147398,"answered_at":null,"connected_at":null,"ended_at":1795393147400,"timeout_ms":90000,"revision":2,"media":"none","end":{"reason":"busy","detail":null,"by":"later-3","extended_data":null},"participants":[{"user":"fay","role":"caller","invited_by":null,"state":"joined","reason":null,"extended_data":null,"invited_at":1795393147398,"deadline_at":null,"answered_at":1795393147398,"device":"phone","audio":true,"video":false,"held":false},{"user":"later-3","role":"invitee","invited_by":"fay","state":"rejected","reason":"busy","extended_data":"{\"reason\":\"busy\",\"callID\":\"01a205c552060000af0bbc1fa5cceac2\"}","invited_at":1795393147398,"deadline_at":null,"answered_at":1795393147400,"device":null,"audio":true,"video":false,"held":false}]}}}' AS BLOB), 'open', 0, 1795393147400, NULL);
INSERT INTO webhook VALUES (30, 'slow', x'01A205C55208000015CD81A666CFB4B4', 'call.ended', 1795393147404, CAST('{"type":"call.ended","timestamp_at":1795393147404,"data":{"call_id":"01a205c55208000015cd81a666cfb4b4","revision":3,"at":1795393147404,"actor":{"user":"fay","device":"phone"},"end":{"reason":"not_connected","detail":null,"by":"fay","extended_data":null},"ended_at":1795393147404,"duration_ms":2,"call":{"call_id":"01a205c55208000015cd81a666cfb4b4","mode":"direct","kind":"audio","state":"ended","caller":"fay","extended_data":null,"items":{},"created_at":1795393147400,"answered_at":1795393147402,"connected_at":null,"ended_at":1795393147404,"timeout_ms":60000,"revision":3,"media":"establishing","end":{"reason":"not_connected","detail":null,"by":"fay","extended_data":null},"participants":[{"user":"fay","role":"caller","invited_by":null,"state":"joined","reason":null,"extended_data":null,"invited_at":1795393147400,"deadline_at":null,"answered_at":1795393147400,"device":"phone","audio":true,"video":false,"held":false},{"user":"gus","role":"invitee","invited_by":"fay","state":"joined","reason":null,"extended_data":null,"invited_at":1795393147400,"deadline_at":null,"answered_at":1795393147402,"device":"phone","audio":true,"video":false,"held":false}]}}}' AS BLOB), 'open', 0, 1795393147404, NULL);
INSERT INTO webhook VALUES (33, 'slow', x'01A205C5520E00007C7E6697C5045E15', 'call.ended', 1795393148406, CAST('{"type":"call.ended","timestamp_at":1795393148406,"data":{"call_id":"01a205c5520e00007c7e6697c5045e15","revision":2,"at":1795393148406,"actor":{"timer":"ring"},"end":{"reason":"no_answer","detail":null,"by":null,"extended_data":null},"ended_at":1795393148406,"duration_ms":0,"call":{"call_id":"01a205c5520e00007c7e6697c5045e15","mode":"common","kind":"audio","state":"ended","caller":"fay","extended_data":null,"items":{},"created_at":1795393147406,"answered_at":null,"connected_at":null,"ended_at":1795393148406,"timeout_ms":1000,"revision":2,"media":"none","end":{"reason":"no_answer","detail":null,"by":null,"extended_data":null},"participants":[{"user":"fay","role":"caller","invited_by":null,"state":"joined","reason":null,"extended_data":null,"invited_at":1795393147406,"deadline_at":null,"answered_at":1795393147406,"device":"phone","audio":true,"video":false,"held":false},{"user":"hal","role":"invitee","invited_by":"fay","state":"timed_out","reason":null,"extended_data":null,"invited_at":1795393147406,"deadline_at":null,"answered_at":null,"device":null,"audio":true,"video":false,"held":false}]}}}' AS BLOB), 'open', 0, 1795393148406, NULL);
