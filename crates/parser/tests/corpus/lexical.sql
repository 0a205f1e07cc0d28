SELECT 'a', "b", 'it''s', "say ""x""", 'a\'b', 'a\\b', 'tab\there', '\0\b\n\r\t\Z\%\_\q', '', ""
SELECT 'a' 'b' 'c', 'a' "b", N'abc', n'abc', _utf8mb4'abc', _latin1 'abc', _binary"x", _utf8mb4 0x4D, _utf8mb4 X'4D', _latin1 b'01000001', _UTF8MB4'x' COLLATE utf8mb4_bin
SELECT 0, 1, 007, 18446744073709551615, 18446744073709551616, 123456789012345678901234567890, 1.5, .5, 1., 0.10, 1e5, 1E5, 1e+5, 1e-5, 1.5e5, .5e5, 1.e5
SELECT 0x4D, 0xabc, X'4D', x'4d6e', x'', b'101', B'', 0b101, 0b0, b'111111111'
SELECT NULL, \N, TRUE, FALSE, true, null
SELECT 1/**/+/* x */1, 1 -- comment
SELECT 1 # comment
SELECT 1 --
SELECT 5--1
SELECT 1 /*!+ 1 */, 2 /*!40101 + 2 */, 3 /*!99999 + 3 */, 4 /*M! + 4 */, 5 /*!100500 + 5 */
SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`
/*!40101 SET NAMES utf8mb4 */
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */
/*!40000 ALTER TABLE `t` DISABLE KEYS */
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1 */
SELECT 1 /*!99999 /* nested */ x */
SELECT t.1a, t.1, 1a, 1ab.c, t.select, select.a, t.`select` FROM t, 1a, 1ab
SELECT 1e, 1ea, 0xg, 0b2 FROM t
SELECT a.5 FROM a
SELECT $a, a$b, _a, é, 名前 FROM 表
SELECT account, action, at, begin, bit, block, bool, cache, chain, charset, code, columns, comment, data, date, datetime, day, disk, end, engine, enum, error, event, first, full, hash, help, hour, json, last, level, list, local, lock_, logs, max_rows, medium, member, memory, minute, mode, month, name, names, national, next, no, none, offset, one, only, open, options, page, password, path, phase, point, port, prev, privileges, process, profile, query, quick, role, rollback, row_format, rtree, second, server, session, share, signed, skip, slow, some, source, start, status, stop, storage, string, subject, tables, temporary, text, than, time, timestamp, transaction, triggers, truncate, type, unknown, until, user, value, variables, view, wait, week, work, xa, year, zone FROM t
SELECT 1 AS end, 2 AS status, 3 value, 4 'x y', 5 AS "q", 6 AS `select`
SELECT count FROM count
SELECT count, max, now, sum, trim FROM t
SELECT concat ('a', 'b'), ifnull (a, b)
SELECT * FROM `a`.`b`, `c d`, `e``f`
SELECT `a`.`b`.`c`, `a`.b.`c`, a . b . c
SELECT '日本語', "naïve", 'emoji 😀'
SELECT a FROM t WHERE b = 'x' AND c = "y" AND d = `e`
SELECT+1,-1,~1,!1
SELECT a<b,a<=b,a<>b,a!=b,a<=>b,a<<b,a>>b,a&&b,a||b FROM t
SELECT @a:=1,@b:=@a+1
SELECT a<-1, a>-1, a=-1, a=+1, a=!1, a=~1
select sum(a)over(),a+1as b,1as c
SELECT(1),(2)FROM(t)WHERE(a)AND(b)
